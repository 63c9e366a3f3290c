import type { z } from 'zod';
import { isObject, parseJson } from '#platform/kernel';
import { VERSION } from '../version.js';

/** The message is for the agent and contains no credential. */
export class ForgeError extends Error {}

export interface ForgeResponse {
  readonly status: number;
  readonly body: unknown;
}

interface ForgeApiOptions {
  /** For messages. */
  readonly name: string;
  readonly url: string;
  readonly token: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const TIMEOUT_MS = 20_000;
const MAX_DETAIL_LENGTH = 500;

/** The REST API of a forge, with the credential of one repository. */
export class ForgeApi {
  constructor(private readonly options: ForgeApiOptions) {}

  get(path: string, signal: AbortSignal): Promise<ForgeResponse> {
    return this.request('GET', path, undefined, [], signal);
  }

  /** `refusals`: statuses that are returned as responses. Rejects with a ForgeError for other errors. */
  post(path: string, body: object, refusals: readonly number[], signal: AbortSignal): Promise<ForgeResponse> {
    return this.request('POST', path, body, refusals, signal);
  }

  /** Rejects a response without the fields that are needed with a ForgeError. */
  read<Value>(schema: z.ZodType<Value>, body: unknown): Value {
    const parsed = schema.safeParse(body);
    if (parsed.success) return parsed.data;
    throw new ForgeError(`${this.options.name} sent a response without the expected fields.`);
  }

  private async request(
    method: string,
    path: string,
    body: object | undefined,
    refusals: readonly number[],
    signal: AbortSignal,
  ): Promise<ForgeResponse> {
    const { name, url, token, headers } = this.options;
    let response: ForgeResponse;
    let retryAfter: string | null;
    try {
      const answer = await fetch(`${url}${path}`, {
        method,
        headers: {
          accept: 'application/json',
          'user-agent': `headrace/${VERSION}`,
          authorization: `Bearer ${token}`,
          ...headers,
          ...(body && { 'content-type': 'application/json' }),
        },
        ...(body && { body: JSON.stringify(body) }),
        signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
      });
      response = { status: answer.status, body: parseJson(await answer.text()) };
      retryAfter = answer.headers.get('retry-after');
    } catch {
      signal.throwIfAborted();
      throw new ForgeError(`${name} does not respond. Try again later.`);
    }
    const { status } = response;
    if ((status >= 200 && status < 300) || refusals.includes(status)) return response;
    if (retryAfter !== null && /^\d+$/.test(retryAfter))
      throw new ForgeError(`${name} limits the requests. Try again in ${retryAfter} seconds.`);
    if (status === 401) throw new ForgeError(`${name} does not accept the credential of the repository (401).`);
    throw new ForgeError(`${name} rejected the request (${status}): ${detailOf(response.body)}`);
  }
}

/** What the response says about an error, in one line. */
export function detailOf(body: unknown): string {
  const { message, errors, error } = isObject(body) ? body : {};
  const listed = Array.isArray(errors) ? (errors as unknown[]) : [];
  const details = listed.map((one) => (isObject(one) ? (one['message'] ?? one) : one));
  const parts = [message ?? error, ...details].filter((part) => part !== undefined && part !== null);
  const text = parts.map((part) => (typeof part === 'string' ? part : JSON.stringify(part))).join('; ');
  return (text === '' ? 'no reason given' : text).replaceAll(/\s+/g, ' ').slice(0, MAX_DETAIL_LENGTH);
}
