import { AsyncLocalStorage } from 'node:async_hooks';
import { randomFillSync } from 'node:crypto';

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

/** Since this version of Node.js, V8 carries the context of asynchronous code by itself. */
const FIRST_WITH_CONTEXT_FRAMES = 24;
/**
 * Null in earlier versions: there each promise of the process calls a hook, which takes a fifth of the processor time of creating
 * a run. See docs/adr/0072.
 */
const storage =
  Number.parseInt(process.versions.node, 10) >= FIRST_WITH_CONTEXT_FRAMES
    ? new AsyncLocalStorage<RequestContext>()
    : null;
let synchronous: RequestContext | undefined;
const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}/;
const ALL_ZERO = /^0+$/;
const TRACE_BYTES = 16;
const SPAN_BYTES = 8;

/** The context of the current request or job, or undefined outside of one. */
export function currentContext(): RequestContext | undefined {
  return storage === null ? synchronous : storage.getStore();
}

/**
 * The log lines of the work have the context. In Node.js below 24 these are the lines until the work first waits, so that later code
 * that knows the context calls this function again for its lines.
 */
export function runInContext<T>(context: RequestContext, work: () => T): T {
  if (storage !== null) return storage.run(context, work);
  const before = synchronous;
  synchronous = context;
  try {
    return work();
  } finally {
    synchronous = before;
  }
}

/** Continues the caller's trace when `traceparent` is a valid W3C header, else begins one. */
export function newContext(traceparent?: string): RequestContext {
  const match = traceparent === undefined ? null : TRACEPARENT.exec(traceparent);
  const given = match?.[1];
  const continued = given !== undefined && !ALL_ZERO.test(given) && !traceparent?.startsWith('ff');
  return {
    traceId: continued ? given : randomHex(TRACE_BYTES),
    spanId: randomHex(SPAN_BYTES),
  };
}

const RANDOM_POOL = Buffer.alloc(4096);
let used = RANDOM_POOL.length;

/** Random bytes are drawn in bulk: one draw takes as long as fifty identifiers. */
function randomHex(bytes: number): string {
  if (used + bytes > RANDOM_POOL.length) {
    randomFillSync(RANDOM_POOL);
    used = 0;
  }
  used += bytes;
  return RANDOM_POOL.toString('hex', used - bytes, used);
}
