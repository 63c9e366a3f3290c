import type { IncomingMessage } from 'node:http';
import { WorkerFault } from './backend.js';

/** Exit codes of a worker that the server will never take (sysexits.h: EX_NOPERM, EX_USAGE). */
export const REFUSED_EXIT = { credentials: 77, name: 64 } as const;

const MAX_BODY_BYTES = 8_192;
const BODY_MS = 2_000;

export type Refusal =
  | { readonly kind: 'fault'; readonly fault: WorkerFault }
  /** May be different the next time. */
  | { readonly kind: 'retry'; readonly reason: string };

/** What an answer to the upgrade that was none means. */
export async function refusalFault(response: IncomingMessage): Promise<Refusal> {
  const status = response.statusCode ?? 0;
  const detail = await detailOf(response);
  const said = detail === '' ? '' : ` It says: ${detail}`;
  switch (status) {
    case 400:
      return fault(`The server does not take this worker's name (400).${said}`, REFUSED_EXIT.name);
    case 401:
      return fault(
        `The server does not know the API key (401): it is wrong, expired or revoked.${said}`,
        REFUSED_EXIT.credentials,
      );
    case 403:
      return fault(
        `The server refuses this worker (403): it needs the token of a service account, and a name that does not begin with "warp".${said}`,
        REFUSED_EXIT.credentials,
      );
    default:
      return { kind: 'retry', reason: `the server answered ${status}` };
  }
}

const fault = (message: string, exitCode: number): Refusal => ({
  kind: 'fault',
  fault: new WorkerFault(message, exitCode),
});

/** The detail of a problem document; empty when it is something else. */
async function detailOf(response: IncomingMessage): Promise<string> {
  const timer = setTimeout(() => response.destroy(), BODY_MS);
  try {
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > MAX_BODY_BYTES) break;
    }
    const body: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    const detail = typeof body === 'object' && body !== null && 'detail' in body ? body.detail : null;
    return typeof detail === 'string' ? detail.replace(/\p{Cc}+/gu, ' ').slice(0, 500) : '';
  } catch {
    return '';
  } finally {
    clearTimeout(timer);
  }
}
