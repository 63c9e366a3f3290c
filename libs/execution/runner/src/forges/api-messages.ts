import type { IncomingMessage } from 'node:http';
import { parseUrl } from '#platform/kernel';

/** What `gh` and `glab` have in place of a token. */
export const PLACEHOLDER = 'credential-of-the-run';

const MAX_BODY_BYTES = 8_388_608;
/** Not those by which a request can have another method or address than it seems to have. */
const REQUEST_HEADERS = [
  'accept',
  'content-type',
  'graphql-features',
  'if-modified-since',
  'if-none-match',
  'range',
  'time-zone',
  'user-agent',
  'x-github-api-version',
];
/** Those of the connection, and those of a body that `fetch` has decoded. */
const DROPPED_HEADERS = [
  'connection',
  'content-encoding',
  'content-length',
  'keep-alive',
  'set-cookie',
  'transfer-encoding',
];

/** The message is for the program that has sent a request. `url`: of the repository that it is about. */
export class RefusedError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly url?: string,
  ) {
    super(message);
  }
}

/** The login of a program that does not use the credential of the run; null: it does. */
export function loginOf({ headers }: IncomingMessage): Record<string, string> | null {
  const { authorization = '' } = headers;
  const token = headers['private-token'];
  const isOwn = (value: unknown): value is string => typeof value === 'string' && !['', PLACEHOLDER].includes(value);
  if (isOwn(token)) return { 'private-token': token };
  return isOwn(authorization.split(' ').at(-1)) ? { authorization } : null;
}

export function requestHeaders({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    REQUEST_HEADERS.flatMap((name) => {
      const value = headers[name];
      return typeof value === 'string' && value !== '' ? [[name, value]] : [];
    }),
  );
}

/** The address on another server to which an answer redirects. */
export function redirectElsewhere({ status, headers }: Response, from: string): string | null {
  const location = headers.get('location');
  if (status < 300 || status > 399 || location === null) return null;
  const base = new URL(from);
  const to = parseUrl(location);
  return to === null || to.protocol !== base.protocol || to.host === base.host ? null : to.href;
}

export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= MAX_BODY_BYTES) chunks.push(chunk);
  }
  // At the end: programs read no answer while they send.
  if (size > MAX_BODY_BYTES)
    throw new RefusedError(413, `The body of a request must not exceed ${MAX_BODY_BYTES} bytes.`);
  return Buffer.concat(chunks);
}

export const answerHeaders = ({ headers }: Response): Record<string, string> =>
  Object.fromEntries([...headers].filter(([name]) => !DROPPED_HEADERS.includes(name)));
