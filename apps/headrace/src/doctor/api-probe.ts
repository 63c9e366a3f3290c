import { randomBytes } from 'node:crypto';
import { type IncomingMessage, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Clock } from '#platform/kernel';

export interface ApiAnswer {
  readonly status: number;
  /** How far the API's clock is ahead of ours, in milliseconds, to half a second; null when it does not tell the time. */
  readonly aheadMs: number | null;
  /** Whether what answers is a Headrace. */
  readonly isHeadrace: boolean;
}

const ANSWER_MS = 5_000;
const MAX_BODY_BYTES = 65_536;
/** A Date header has whole seconds, cut off. */
const HALF_SECOND_MS = 500;

/** The API as this machine reaches it. */
export class ApiProbe {
  private asking: Promise<ApiAnswer> | null = null;

  constructor(
    /** Origin, without `/api/v1`. */
    readonly origin: string,
    private readonly clock: Clock,
  ) {}

  /** Asked once, for all checks. Rejects when nobody answers. */
  readiness(): Promise<ApiAnswer> {
    this.asking ??= this.askReadiness();
    return this.asking;
  }

  /**
   * What the door of workers says to a token: an upgrade that names no worker, so that none is made. 400 when the token
   * is good, 401 and 403 when it is not.
   */
  async workerConnectionStatus(token: string): Promise<number> {
    const { status } = await this.ask('/api/v1/selfhosted/worker/ws', {
      authorization: `Bearer ${token}`,
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': randomBytes(16).toString('base64'),
    });
    return status;
  }

  private async askReadiness(): Promise<ApiAnswer> {
    const sentAt = this.clock.now().getTime();
    const { status, date, body } = await this.ask('/health/ready', {});
    const middle = (sentAt + this.clock.now().getTime()) / 2;
    const told = Date.parse(date ?? '');
    return {
      status,
      aheadMs: Number.isNaN(told) ? null : told + HALF_SECOND_MS - middle,
      isHeadrace: /^\{.*"ready":/s.test(body),
    };
  }

  private ask(
    path: string,
    headers: Record<string, string>,
  ): Promise<{ status: number; date: string | undefined; body: string }> {
    const url = new URL(this.origin + path);
    return new Promise((resolve, reject) => {
      const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
      const request = send(url, { headers, agent: false, signal: AbortSignal.timeout(ANSWER_MS) });
      const answered = (response: IncomingMessage): void => {
        let body = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          body += chunk;
          if (body.length > MAX_BODY_BYTES) response.destroy(new Error('the answer is too long'));
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, date: response.headers.date, body }));
        response.on('error', reject);
      };
      request.on('response', answered);
      request.on('upgrade', (response, socket) => {
        socket.destroy();
        resolve({ status: response.statusCode ?? 101, date: response.headers.date, body: '' });
      });
      request.on('error', (error) =>
        reject(
          error.name === 'AbortError' || error.name === 'TimeoutError'
            ? new Error(`no answer within ${ANSWER_MS} ms`)
            : error,
        ),
      );
      request.end();
    });
  }
}
