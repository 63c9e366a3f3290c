import { formatTraceparent, parseTraceparent, type TraceParent } from '#platform/kernel';
import { currentContext, newSpanId, newTraceId, type RequestContext, runInContext } from '../request-context.js';
import { type EndedSpan, telemetry } from './telemetry.js';

/** The span of the current request or job; null when it is not traced. */
function currentSpan(): TraceParent | null {
  const context = currentContext();
  return context?.trace === undefined ? null : spanOf(context, context.trace.isSampled);
}

const spanOf = ({ traceId, spanId }: RequestContext, isSampled: boolean): TraceParent => ({
  traceId,
  spanId,
  isSampled,
});

/** The `traceparent` of the span of a traced request; null: it is not traced. */
export function traceparentOf(context: RequestContext): string | null {
  return context.trace === undefined ? null : formatTraceparent(spanOf(context, context.trace.isSampled));
}

/** That of the current request or job; null: it is not traced. */
export function currentTraceparent(): string | null {
  const context = currentContext();
  return context === undefined ? null : traceparentOf(context);
}

/** Runs `work` as a part of the span that `traceparent` names; without telemetry or a span, as it is. */
export function runInSpan<T>(traceparent: string | null | undefined, work: () => T): T {
  const span = telemetry() === null ? null : parseTraceparent(traceparent);
  if (span === null) return work();
  const { traceId, spanId, isSampled } = span;
  return runInContext({ traceId, spanId, trace: { parentSpanId: null, isSampled } }, work);
}

type SpanEnd = Pick<EndedSpan, 'name' | 'kind' | 'attributes' | 'errorType'>;

/** Exports the span of a traced request that has ended now. */
export function recordRequest(context: RequestContext, durationMs: number, end: SpanEnd): void {
  const { trace } = context;
  if (trace === undefined) return;
  const endedAt = Date.now();
  telemetry()?.record({
    ...end,
    context: spanOf(context, trace.isSampled),
    parentSpanId: trace.parentSpanId,
    startedAt: endedAt - durationMs,
    endedAt,
  });
}

export interface OpenSpan {
  readonly traceparent: string;
  end(end: SpanEnd): void;
}

/** A span below the one of the current request or job, otherwise the first one of a new trace. Null while telemetry is off. */
export function beginSpan(): OpenSpan | null {
  const exporter = telemetry();
  if (exporter === null) return null;
  const parent = currentSpan();
  const traceId = parent?.traceId ?? newTraceId();
  const isSampled = exporter.isSampled(traceId, parent);
  const context = { traceId, spanId: newSpanId(), isSampled };
  const began = performance.now();
  return {
    traceparent: formatTraceparent(context),
    end: (end) => {
      const endedAt = Date.now();
      const startedAt = endedAt - (performance.now() - began);
      exporter.record({ ...end, context, parentSpanId: parent?.spanId ?? null, startedAt, endedAt });
    },
  };
}
