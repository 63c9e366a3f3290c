import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DeliverNotifications } from '#domain/notifications';
import type { TestApi } from '#testing';

export const NOTIFICATION_WEBHOOKS = '/notification-webhooks';

export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A server that keeps the requests that it receives, and responds as a test sets it. */
export class WebhookReceiver {
  readonly received: Received[] = [];
  private waiting: (() => void)[] = [];
  status = 204;
  headers: Record<string, string> = {};
  body = '';
  /** The body of the response to a message, instead of `body`. */
  echo: ((received: string) => string) | null = null;

  private constructor(private readonly server: Server) {}

  static async listen(): Promise<WebhookReceiver> {
    const server = createServer();
    const receiver = new WebhookReceiver(server);
    server.on('request', (request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        const { method = '', url = '', headers } = request;
        const body = Buffer.concat(parts).toString();
        receiver.received.push({ method, url, headers, body });
        response.writeHead(receiver.status, receiver.headers).end(receiver.echo?.(body) ?? receiver.body);
        for (const wake of receiver.waiting.splice(0)) wake();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/hook?key=k`;
  }

  /** The requests since the last call. */
  take(): Received[] {
    return this.received.splice(0);
  }

  /** Resolves with the oldest request that was not read yet, or with the next one. */
  async next(): Promise<Received> {
    for (;;) {
      const received = this.received.shift();
      if (received) return received;
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    }
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

/** Settings of an API that sends notifications to this machine. */
export const LOCAL_RECEIVERS = { notifyAllowHttp: true, notifyAllowPrivate: ['127.0.0.1'] };

/** Sends the notifications that are due, as the processor does. Returns the number of attempts. */
export async function deliverDue(api: TestApi): Promise<number> {
  const deliver = api.app.get(DeliverNotifications);
  let attempts = 0;
  for (;;) {
    const claimed = await deliver.claim(100);
    if (claimed.length === 0) return attempts;
    attempts += claimed.length;
    await Promise.all(claimed.map((delivery) => deliver.attempt(delivery, new AbortController().signal)));
  }
}
