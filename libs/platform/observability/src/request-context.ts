import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';

/** What every log line of one request (or one job) shares. */
export interface RequestContext {
  /** W3C trace id: 32 lower-case hex digits. */
  readonly traceId: string;
  /** Our span within that trace: 16 hex digits. */
  readonly spanId: string;
  /** `METHOD /pattern/of/:the/route`, never the filled-in path. */
  route?: string;
  /** Uid of the authenticated principal. */
  principal?: string;
}

const storage = new AsyncLocalStorage<RequestContext>();
const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}/;
const ALL_ZERO = /^0+$/;

/** The context of the current request or job, or undefined outside of one. */
export function currentContext(): RequestContext | undefined {
  return storage.getStore();
}

export function runInContext<T>(context: RequestContext, work: () => T): T {
  return storage.run(context, work);
}

/** Continues the caller's trace when `traceparent` is a valid W3C header, else begins one. */
export function newContext(traceparent?: string): RequestContext {
  const match = traceparent === undefined ? null : TRACEPARENT.exec(traceparent);
  const given = match?.[1];
  const continued = given !== undefined && !ALL_ZERO.test(given) && !traceparent?.startsWith('ff');
  return {
    traceId: continued ? given : randomHex(),
    spanId: randomHex().slice(0, 16),
  };
}

/** 32 hex digits, of which 6 bits are fixed. Node draws randomness for UUIDs in bulk, which a request notices. */
function randomHex(): string {
  return randomUUID().replaceAll('-', '');
}
