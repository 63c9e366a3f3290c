import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { type SlackBlock, slackViolations } from '#testing';

export interface SlackMessage {
  readonly text: string;
  readonly blocks: readonly SlackBlock[];
}

/**
 * An incoming webhook of a Slack app, on a loopback port. It answers as
 * https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks says: `ok`, or the code of an error.
 */
export class SlackIncomingWebhook {
  readonly messages: SlackMessage[] = [];
  readonly errors: string[] = [];

  private constructor(private readonly server: Server) {}

  static async start(): Promise<SlackIncomingWebhook> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const webhook = new SlackIncomingWebhook(server);
    server.on('request', (request, response) => {
      void textOf(request).then((body) => {
        const error = request.method === 'POST' ? webhook.take(body) : 'invalid_payload';
        if (error !== null) webhook.errors.push(error);
        response.writeHead(error === null ? 200 : 400, { 'content-type': 'text/plain' }).end(error ?? 'ok');
      });
    });
    return webhook;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/services/T00000000/B00000000/XXXXXXXX`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private take(body: string): string | null {
    let message: SlackMessage;
    try {
      message = JSON.parse(body) as SlackMessage;
    } catch {
      return 'invalid_payload';
    }
    if (typeof message.text !== 'string' || message.text === '') return 'no_text';
    if (!Array.isArray(message.blocks) || slackViolations(message).length > 0) return 'invalid_blocks';
    this.messages.push(message);
    return null;
  }
}
