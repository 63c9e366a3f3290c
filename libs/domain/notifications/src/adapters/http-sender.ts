import { Injectable } from '@nestjs/common';
import { lookup } from 'node:dns/promises';
import { type IncomingMessage, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { Settings } from '#platform/config';
import { toStorableText } from '#platform/kernel';
import {
  HostResolver,
  NotificationSender,
  type OutgoingMessage,
  type ResolvedAddress,
  type SendResult,
} from '../application/ports.js';
import { AddressGuard } from './address-guard.js';
import { hostOf, TargetRules } from './target-rules.js';

/** Of an answer no more is read than what is logged. */
const KEPT_BODY_BYTES = 1024;
const MAX_HEADER_BYTES = 16_384;

@Injectable()
export class SystemResolver extends HostResolver {
  override async resolve(hostname: string): Promise<readonly ResolvedAddress[]> {
    const found = await lookup(hostname, { all: true });
    return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
  }
}

/** What is not sent, for a reason that the owner of the webhook may read. */
class NotSentError extends Error {}

/**
 * Sends over HTTP(S). The name is looked up once, all of its addresses are checked, and the connection goes to one of
 * those: what the name leads to a moment later does not matter. No redirects, no connection that is used twice, no
 * proxy, none of our own credentials.
 */
@Injectable()
export class HttpSender extends NotificationSender {
  constructor(
    private readonly settings: Settings,
    private readonly rules: TargetRules,
    private readonly guard: AddressGuard,
    private readonly resolver: HostResolver,
  ) {
    super();
  }

  override async send(message: OutgoingMessage, signal: AbortSignal): Promise<SendResult> {
    // Held by hand: composed signals that nothing else holds may be collected, and then never fire.
    const end = new AbortController();
    const cut = (): void => end.abort();
    const timer = setTimeout(cut, this.settings.notifyTimeout);
    signal.addEventListener('abort', cut, { once: true });
    if (signal.aborted) cut();
    try {
      const response = await this.post(message, end.signal);
      const body = await beginningOf(response);
      return {
        kind: 'answered',
        status: response.statusCode ?? 0,
        body,
        retryAfterMs: secondsOf(response.headers['retry-after']) * 1000,
      };
    } catch (error) {
      if (signal.aborted) return { kind: 'broken_off' };
      if (end.signal.aborted)
        return { kind: 'unanswered', reason: `There was no answer within ${this.settings.notifyTimeout} ms.` };
      return { kind: 'unanswered', reason: reasonOf(error) };
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', cut);
    }
  }

  private async post({ url, headers, body }: OutgoingMessage, signal: AbortSignal): Promise<IncomingMessage> {
    const ruling = this.rules.check(url);
    if ('wrong' in ruling) throw new NotSentError(`The URL ${ruling.wrong}.`);
    const { target } = ruling;
    const addresses = await this.addressesOf(hostOf(target), signal);
    return new Promise((resolve, reject) => {
      const open = target.protocol === 'https:' ? httpsRequest : httpRequest;
      const request = open(target, {
        method: 'POST',
        headers: { ...headers, 'content-length': String(Buffer.byteLength(body)) },
        agent: false,
        lookup: answering(addresses),
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
    if (addresses.length === 0) throw new NotSentError('The name of the host has no address.');
    // One that is not public spoils the others: a name that leads into the house has no business here.
    if (!addresses.every(({ address }) => this.guard.allows(address)))
      throw new NotSentError('The host leads to an address that is not public.');
    return addresses;
  }
}

/** A lookup for a connection that has no choice but these. */
const answering =
  (addresses: readonly ResolvedAddress[]): LookupFunction =>
  (_hostname, options, callback) => {
    const [first] = addresses;
    if (options.all === true || !first) callback(null, [...addresses]);
    else callback(null, first.address, first.family);
  };

/** A look-up cannot be taken back; what it finds later is of no interest. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(new Error('Aborted.'));
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    void work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/** The status is what counts: a body that breaks off or never ends does not change it. */
function beginningOf(response: IncomingMessage): Promise<string> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    let bytes = 0;
    const done = (): void => {
      response.destroy();
      const kept = Buffer.concat(parts).subarray(0, KEPT_BODY_BYTES);
      resolve(toStorableText(kept.toString('utf8')).text);
    };
    response.on('data', (part: Buffer) => {
      parts.push(part);
      bytes += part.length;
      if (bytes >= KEPT_BODY_BYTES) done();
    });
    response.on('error', done);
    response.once('close', done);
  });
}

const secondsOf = (header: string | undefined): number => (/^\d{1,6}$/.test(header ?? '') ? Number(header) : 0);

/** Codes say enough; messages of the system name addresses. */
function reasonOf(error: unknown): string {
  if (error instanceof NotSentError) return error.message;
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `The name of the host was not found (${code}).`;
  return `The connection failed (${code}).`;
}
