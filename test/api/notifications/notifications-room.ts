import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DeliverNotifications } from '#domain/notifications';
import { startTestApi, type TestApi, type TestPrincipal } from '#testing';

export const PATH = '/notification-webhooks';

export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A real server that notes what it gets, and answers what a test tells it to. */
export class Receiver {
  readonly received: Received[] = [];
  private waiting: (() => void)[] = [];
  status = 204;
  headers: Record<string, string> = {};
  body = '';

  private constructor(private readonly server: Server) {}

  static async listen(): Promise<Receiver> {
    const server = createServer();
    const receiver = new Receiver(server);
    server.on('request', (request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        const { method = '', url = '', headers } = request;
        receiver.received.push({ method, url, headers, body: Buffer.concat(parts).toString() });
        response.writeHead(receiver.status, receiver.headers).end(receiver.body);
        for (const wake of receiver.waiting.splice(0)) wake();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/hook?key=k`;
  }

  /** What came since the last call. */
  take(): Received[] {
    return this.received.splice(0);
  }

  /** Resolves with the next request that comes, or one that is there already. */
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

export interface NotificationsRoom {
  readonly api: TestApi;
  readonly team: string;
  readonly admin: TestPrincipal;
  readonly member: TestPrincipal;
}

/** Over an API that may send to this machine. */
export async function openNotificationsRoom(): Promise<NotificationsRoom> {
  const api = await startTestApi({ settings: { notifyAllowHttp: true, notifyAllowPrivate: ['127.0.0.1'] } });
  const team = await api.identities.team('Watched');
  return {
    api,
    team,
    admin: await api.identities.user({ [team]: 'admin' }),
    member: await api.identities.user({ [team]: 'member' }),
  };
}

/** Sends what is due, as the processor would. Returns how many attempts there were. */
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
