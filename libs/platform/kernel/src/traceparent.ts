import { createHash } from 'node:crypto';

/** A span in a trace, as W3C Trace Context names it. */
export interface TraceParent {
  /** 32 lower-case hex digits. */
  readonly traceId: string;
  /** 16 lower-case hex digits. */
  readonly spanId: string;
  readonly isSampled: boolean;
}

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})/;

/** Null: not a valid `traceparent`. Later versions may append fields. */
export function parseTraceparent(text: string | null | undefined): TraceParent | null {
  const [, traceId, spanId, flags] = (text && TRACEPARENT.exec(text)) || [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export const formatTraceparent = ({ traceId, spanId, isSampled }: TraceParent): string =>
  `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;

/**
 * The id of a span that several processes have to know without a message, and that is the same when the span is exported again:
 * 16 hex digits.
 */
export const spanIdOf = (key: string): string => createHash('sha256').update(key).digest('hex').slice(0, 16);

/** Of the span of a run, which is below the span that has created it. */
export const runTraceparent = (creation: TraceParent, runId: string): TraceParent => ({
  ...creation,
  spanId: spanIdOf(`run/${runId}`),
});

/** Of the turn of an agent, from the `traceparent` of its run: the runner sends it to the agent, and the server exports the span. */
export const turnTraceparent = (run: TraceParent, turnId: string): TraceParent => ({
  ...run,
  spanId: spanIdOf(`${run.spanId}/turn/${turnId}`),
});
