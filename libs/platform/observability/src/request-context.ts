import { AsyncLocalStorage } from 'node:async_hooks';
import { randomFillSync } from 'node:crypto';
import { parseTraceparent } from '#platform/kernel';
import { telemetry } from './telemetry/telemetry.js';

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
  /** Present when a span with these ids is exported, if it is sampled. */
  readonly trace?: { readonly parentSpanId: string | null; readonly isSampled: boolean };
}

/** Since this version of Node.js, V8 carries the context of asynchronous code by itself. */
const FIRST_WITH_CONTEXT_FRAMES = 24;
/**
 * Null in earlier versions: there each promise of the process calls a hook, which takes a fifth of the processor time of creating
 * a run. See docs/adr/0072.
 */
let storage =
  Number.parseInt(process.versions.node, 10) >= FIRST_WITH_CONTEXT_FRAMES
    ? new AsyncLocalStorage<RequestContext>()
    : null;
let synchronous: RequestContext | undefined;
const TRACE_BYTES = 16;
const SPAN_BYTES = 8;

/** From now on the context is that of asynchronous code in each version of Node.js: for spans, whose parents it names. */
export function followAsynchronousCode(): void {
  storage ??= new AsyncLocalStorage<RequestContext>();
}

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

/**
 * Continues the caller's trace when `traceparent` is a valid W3C header, else begins one. `isTraced`: a span is exported for the request
 * if telemetry is on.
 */
export function newContext(traceparent?: string, isTraced = false): RequestContext {
  const parent = parseTraceparent(traceparent);
  const context = { traceId: parent?.traceId ?? newTraceId(), spanId: newSpanId() };
  const exporter = isTraced ? telemetry() : null;
  if (exporter === null) return context;
  const isSampled = exporter.isSampled(context.traceId, parent);
  return { ...context, trace: { parentSpanId: parent?.spanId ?? null, isSampled } };
}

export const newTraceId = (): string => randomHex(TRACE_BYTES);
export const newSpanId = (): string => randomHex(SPAN_BYTES);

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
