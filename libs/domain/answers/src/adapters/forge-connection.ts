import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { isObject, Clock } from '#platform/kernel';
import { isSuspension, rateLimitEnd } from '#domain/environments';
import { AnswerFailure } from '../domain/answer-failure.js';

export interface ForgeAddress {
  /** For messages. */
  readonly name: string;
  readonly apiUrl: string;
  readonly token: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Of a token that a later one replaces: called when the forge rejects it. */
  readonly onTokenRejected?: (() => void) | undefined;
}

export interface ForgeResponse {
  readonly status: number;
  readonly data: unknown;
}

interface HttpFailure {
  readonly status: number;
  readonly response?: { readonly headers: Readonly<Record<string, string | undefined>>; readonly data?: unknown };
}

const TIMEOUT_MS = 10_000;
const MAX_CREDENTIALS = 2_000;
const MAX_DETAIL = 300;
const UNAUTHORIZED = 401;
const FORBIDDEN = 403;

/** The REST API of a forge, with one credential. */
export interface ForgeConnection {
  /**
   * `expected`: statuses that are returned, in addition to those of success. Rejects with an AnswerFailure for others, and when the
   * forge limits the requests with the credential.
   */
  send(
    route: string,
    parameters: Readonly<Record<string, unknown>>,
    expected?: readonly number[],
  ): Promise<ForgeResponse>;
}

@Injectable()
export class ForgeConnections {
  /** By credential: until when no request is sent. */
  private readonly limits = new LRUCache<string, Date>({ max: MAX_CREDENTIALS });

  constructor(private readonly clock: Clock) {}

  open(address: ForgeAddress, signal: AbortSignal): ForgeConnection {
    return {
      send: (route, parameters, expected = []) => this.send(address, route, parameters, expected, signal),
    };
  }

  private async send(
    { name, apiUrl, token, headers, onTokenRejected }: ForgeAddress,
    route: string,
    parameters: Readonly<Record<string, unknown>>,
    expected: readonly number[],
    signal: AbortSignal,
  ): Promise<ForgeResponse> {
    const credential = createHash('sha256').update(`${apiUrl} ${token}`).digest('hex');
    const limitedUntil = this.limits.get(credential);
    if (limitedUntil && limitedUntil > this.clock.now()) throw limited(name, limitedUntil);
    // Loaded for its first use: most installations write no answers.
    const { request } = await import('@octokit/request');
    try {
      return (await request(route, {
        ...parameters,
        baseUrl: apiUrl,
        headers: { 'user-agent': 'headrace', authorization: `Bearer ${token}`, ...headers },
        request: { signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]) },
      })) as ForgeResponse;
    } catch (error) {
      const { status, response } = error as HttpFailure;
      if (!response) throw new AnswerFailure('temporary', `${name} does not respond.`);
      const until = rateLimitEnd(status, response, this.clock.now());
      if (until) {
        this.limits.set(credential, until);
        throw limited(name, until);
      }
      if (expected.includes(status)) return { status, data: response.data };
      const isRejected = status === UNAUTHORIZED || (status === FORBIDDEN && isSuspension(response.data));
      if (onTokenRejected && isRejected) {
        onTokenRejected();
        // The next attempt learns why, when it requests another one.
        throw new AnswerFailure('temporary', `${name} rejected the token of the App (${status}).`);
      }
      if (status >= 500) throw new AnswerFailure('temporary', `${name} has failed (${status}).`);
      throw new AnswerFailure('refused', `${name} rejected the request (${status}): ${detailOf(response.data)}`);
    }
  }
}

const limited = (name: string, until: Date): AnswerFailure =>
  new AnswerFailure('limited', `${name} limits the requests until ${until.toISOString()}.`, until);

/** What a response says about an error, in one line. */
export function detailOf(data: unknown): string {
  const { message, error } = isObject(data) ? data : {};
  const found = message ?? error;
  if (found === undefined || found === null) return 'no reason given';
  const text = typeof found === 'string' ? found : JSON.stringify(found);
  return text.replaceAll(/\s+/g, ' ').slice(0, MAX_DETAIL);
}
