import { Injectable } from '@nestjs/common';
import { lookup } from 'node:dns/promises';
import { type IncomingMessage, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { Settings } from '#platform/config';
import { issueSentences, toStorableText } from '#platform/kernel';
import { AddressGuard, hostOf, TargetRules } from './target-rules.js';

/** No more of a response body is read than is logged. */
const LOGGED_BODY_BYTES = 1024;
const MAX_HEADER_BYTES = 16_384;

export interface ResolvedAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

export interface OutgoingMessage {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export type SendResult =
  | {
      readonly kind: 'answered';
      readonly status: number;
      /** The first KB of the response body, as text. */
      readonly body: string;
      /** Milliseconds from `Retry-After`; 0 without it. */
      readonly retryAfterMs: number;
    }
  /** `reason` is shown to the owner of the webhook: it names no address. */
  | { readonly kind: 'unanswered'; readonly reason: string }
  | { readonly kind: 'aborted' };

/** All addresses of a host name. Rejects when it has none. */
@Injectable()
export class HostResolver {
  async resolve(hostname: string): Promise<readonly ResolvedAddress[]> {
    const found = await lookup(hostname, { all: true });
    return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
  }
}

/** A message that is not sent, for a reason that the owner of the webhook may read. */
class NotSentError extends Error {}

/**
 * Posts a message to a URL of a user, and to no address that the user must not reach. The host name is resolved once, all
 * its addresses are checked, and the connection uses one of those, so that a later change of the name has no effect. No
 * redirects, no connection reuse, no proxy, none of our credentials.
 */
@Injectable()
export class NotificationSender {
  constructor(
    private readonly settings: Settings,
    private readonly rules: TargetRules,
    private readonly guard: AddressGuard,
    private readonly resolver: HostResolver,
  ) {}

  /** Never rejects. */
  async send(message: OutgoingMessage, signal: AbortSignal): Promise<SendResult> {
    // Not AbortSignal.any: a composed signal without another reference may be garbage collected and never fire.
    const end = new AbortController();
    const abort = (): void => end.abort();
    const timer = setTimeout(abort, this.settings.notifyTimeout);
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    try {
      const response = await this.post(message, end.signal);
      const body = await readStart(response);
      return {
        kind: 'answered',
        status: response.statusCode ?? 0,
        body,
        retryAfterMs: secondsOf(response.headers['retry-after']) * 1000,
      };
    } catch (error) {
      if (signal.aborted) return { kind: 'aborted' };
      if (end.signal.aborted)
        return { kind: 'unanswered', reason: `No response within ${this.settings.notifyTimeout} ms.` };
      return { kind: 'unanswered', reason: reasonOf(error) };
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
    }
  }

  private async post({ url, headers, body }: OutgoingMessage, signal: AbortSignal): Promise<IncomingMessage> {
    const check = this.rules.check(url);
    if (check.kind === 'invalid') throw new NotSentError(issueSentences(check.issues));
    const { target } = check;
    const addresses = await this.addressesOf(hostOf(target), signal);
    return new Promise((resolve, reject) => {
      const open = target.protocol === 'https:' ? httpsRequest : httpRequest;
      const request = open(target, {
        method: 'POST',
        headers: { ...headers, 'content-length': String(Buffer.byteLength(body)) },
        agent: false,
        lookup: lookupOf(addresses),
        maxHeaderSize: MAX_HEADER_BYTES,
        signal,
      });
      request.on('response', resolve);
      request.on('error', reject);
      request.end(body);
    });
  }

  private async addressesOf(host: string, signal: AbortSignal): Promise<readonly ResolvedAddress[]> {
    const version = isIP(host);
    const addresses: readonly ResolvedAddress[] =
      version === 0
        ? await unlessAborted(this.resolver.resolve(host), signal)
        : [{ address: host, family: version === 6 ? 6 : 4 }];
    if (addresses.length === 0) throw new NotSentError('The host name has no address.');
    // A single private address rejects the host: such a name must not reach our own network.
    if (!addresses.every(({ address }) => this.guard.allows(address)))
      throw new NotSentError('The host resolves to an address that is not public.');
    return addresses;
  }
}

/** A lookup function for the connection that returns only the checked addresses. */
const lookupOf =
  (addresses: readonly ResolvedAddress[]): LookupFunction =>
  (_hostname, options, callback) => {
    const [first] = addresses;
    if (options.all === true || !first) callback(null, [...addresses]);
    else callback(null, first.address, first.family);
  };

/** A DNS lookup cannot be aborted; its later result is ignored. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(new Error('Aborted.'));
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    void work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/** The status decides: a body that is incomplete or endless does not change the result. */
async function readStart(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const part of response as AsyncIterable<Buffer>) {
      parts.push(part);
      bytes += part.length;
      if (bytes >= LOGGED_BODY_BYTES) break;
    }
  } catch {
    // The connection was closed within the body.
  }
  response.destroy();
  return toStorableText(Buffer.concat(parts).subarray(0, LOGGED_BODY_BYTES).toString('utf8')).text;
}

const secondsOf = (header: string | undefined): number => (/^\d{1,6}$/.test(header ?? '') ? Number(header) : 0);

/** Only codes: system messages contain addresses. */
function reasonOf(error: unknown): string {
  if (error instanceof NotSentError) return error.message;
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `The host name was not found (${code}).`;
  return `The connection failed (${code}).`;
}
