import { randomBytes } from 'node:crypto';
import { type IncomingMessage, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Clock } from '#platform/kernel';

export interface ApiReadiness {
  readonly status: number;
  /** How far the clock of the API is ahead of ours, in milliseconds, accurate to half a second; null without a Date header. */
  readonly aheadMs: number | null;
  readonly isHeadrace: boolean;
}

const RESPONSE_TIMEOUT_MS = 5_000;
const MAX_BODY_BYTES = 65_536;
/** A Date header is truncated to seconds. */
const HALF_SECOND_MS = 500;

export class ApiProbe {
  private request: Promise<ApiReadiness> | null = null;

  constructor(
    /** Origin, without `/api/v1`. */
    readonly origin: string,
    private readonly clock: Clock,
  ) {}

  /** Requested once for all checks. Rejects when the API does not answer. */
  readiness(): Promise<ApiReadiness> {
    this.request ??= this.requestReadiness();
    return this.request;
  }

  /** The request names no worker, so no connection is made: 400 means a valid token, 401 and 403 an invalid one. */
  async workerConnectionStatus(token: string): Promise<number> {
    const { status } = await this.send('/api/v1/selfhosted/worker/ws', {
      authorization: `Bearer ${token}`,
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': randomBytes(16).toString('base64'),
    });
    return status;
  }

  private async requestReadiness(): Promise<ApiReadiness> {
    const sentAt = this.clock.now().getTime();
    const { status, date, body } = await this.send('/health/ready', {});
    const middle = (sentAt + this.clock.now().getTime()) / 2;
    const serverTime = Date.parse(date ?? '');
    return {
      status,
      aheadMs: Number.isNaN(serverTime) ? null : serverTime + HALF_SECOND_MS - middle,
      isHeadrace: /^\{.*"ready":/s.test(body),
    };
  }

  private send(
    path: string,
    headers: Record<string, string>,
  ): Promise<{ status: number; date: string | undefined; body: string }> {
    const url = new URL(this.origin + path);
    return new Promise((resolve, reject) => {
      const open = url.protocol === 'https:' ? httpsRequest : httpRequest;
      const request = open(url, { headers, agent: false, signal: AbortSignal.timeout(RESPONSE_TIMEOUT_MS) });
      const answered = (response: IncomingMessage): void => {
        let body = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          body += chunk;
          if (body.length > MAX_BODY_BYTES) response.destroy(new Error('the response is too long'));
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
            ? new Error(`no answer within ${RESPONSE_TIMEOUT_MS} ms`)
            : error,
        ),
      );
      request.end();
    });
  }
}
