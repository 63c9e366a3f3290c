import { Logger } from '@nestjs/common';
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, TraceFlags } from '@opentelemetry/api';
import { type AnyValueMap, type Logger as LogExporter, SeverityNumber } from '@opentelemetry/api-logs';
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-proto';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  type IdGenerator,
  ParentBasedSampler,
  type Sampler,
  SamplingDecision,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { newUuid, ownVersion, type TraceParent, within } from '#platform/kernel';
import { currentContext, newSpanId, newTraceId } from '../request-context.js';
import { reportFailures } from './report-failures.js';
import { type EndedSpan, setTelemetry, type Telemetry, type TelemetrySettings } from './telemetry.js';

/** Some kilobytes each at most. What exceeds the queue is dropped. */
const QUEUE = { maxQueueSize: 10_000, maxExportBatchSize: 512, scheduledDelayMillis: 1_000 };
const LIMITS = { attributeValueLengthLimit: 1_024, attributeCountLimit: 64 };
const MAX_NAME = 200;
/** A stopping process does not wait longer for the receiver. */
const SHUTDOWN_MS = 3_000;
const SCOPE = 'headrace';

const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL } as const;
const SEVERITIES: Readonly<Record<string, SeverityNumber>> = {
  trace: SeverityNumber.TRACE,
  debug: SeverityNumber.DEBUG,
  info: SeverityNumber.INFO,
  warn: SeverityNumber.WARN,
  error: SeverityNumber.ERROR,
  fatal: SeverityNumber.FATAL,
};

/** The SDK with exporters for OTLP over HTTP. It changes no global state of the API of OpenTelemetry. */
export class OpenTelemetry implements Telemetry {
  readonly exportsLogs: boolean;
  private readonly ids = new GivenIds();
  private readonly sampler: Sampler;
  private readonly traces: TracerProvider | null;
  private readonly logs: LoggerProvider | null;
  private readonly logExporter: LogExporter | undefined;

  constructor(settings: TelemetrySettings, endpoint: string) {
    const { otelServiceName, otelResourceAttributes, otelExporterOtlpHeaders, otelExporterOtlpTimeout } = settings;
    const logger = new Logger('Telemetry');
    this.sampler = samplerOf(settings);
    const resource = resourceFromAttributes({
      'service.name': otelServiceName,
      'service.version': ownVersion(),
      'service.instance.id': newUuid(),
      ...Object.fromEntries(otelResourceAttributes),
    });
    const options = (signal: string) => ({
      url: `${endpoint.replace(/\/+$/, '')}/v1/${signal}`,
      headers: Object.fromEntries(otelExporterOtlpHeaders),
      timeoutMillis: otelExporterOtlpTimeout,
    });
    this.traces =
      settings.otelTracesExporter === 'none'
        ? null
        : new TracerProvider({
            resource,
            spanLimits: LIMITS,
            idGenerator: this.ids,
            spanProcessors: [
              new BatchSpanProcessor({
                ...QUEUE,
                // Later than the exporter, which reports its failure.
                exportTimeoutMillis: 2 * otelExporterOtlpTimeout,
                exporter: reportFailures(new OTLPTraceExporter(options('traces')), 'Traces', logger),
              }),
            ],
          });
    this.logs =
      settings.otelLogsExporter === 'none'
        ? null
        : new LoggerProvider({
            resource,
            processors: [
              new BatchLogRecordProcessor({
                ...QUEUE,
                // Later than the exporter, which reports its failure.
                exportTimeoutMillis: 2 * otelExporterOtlpTimeout,
                exporter: reportFailures(new OTLPLogExporter(options('logs')), 'Logs', logger),
              }),
            ],
          });
    this.exportsLogs = this.logs !== null;
    this.logExporter = this.logs?.getLogger(SCOPE, ownVersion());
  }

  isSampled(traceId: string, parent: TraceParent | null): boolean {
    if (this.traces === null) return false;
    const context = parent === null ? ROOT_CONTEXT : contextOf(parent, true);
    return (
      this.sampler.shouldSample(context, traceId, '', SpanKind.INTERNAL, {}, []).decision ===
      SamplingDecision.RECORD_AND_SAMPLED
    );
  }

  record(span: EndedSpan): void {
    const { context, parentSpanId, kind, errorType } = span;
    if (this.traces === null || !context.isSampled) return;
    const parent =
      parentSpanId === null ? ROOT_CONTEXT : contextOf({ ...context, spanId: parentSpanId }, kind === 'server');
    this.ids.next = context;
    const recorded = this.traces
      .getTracer(SCOPE, ownVersion(), span.schemaUrl === undefined ? {} : { schemaUrl: span.schemaUrl })
      .startSpan(
        span.name.slice(0, MAX_NAME),
        {
          kind: KINDS[kind],
          startTime: timeOf(span.startedAt),
          attributes: {
            ...(Object.fromEntries(
              Object.entries(span.attributes).filter(([, value]) => value !== undefined),
            ) as AttributesOfSpan),
            ...(errorType !== undefined && { 'error.type': errorType }),
          },
        },
        parent,
      );
    if (errorType !== undefined) recorded.setStatus({ code: SpanStatusCode.ERROR });
    recorded.end(timeOf(Math.max(span.startedAt, span.endedAt)));
  }

  writeLine(line: string): void {
    const { level, time, msg, trace_id: traceId, span_id: spanId, ...fields } = JSON.parse(line) as LogLine;
    // A receiver that answers every export of logs with an error must not cause further exports.
    if (fields['logger'] === 'Telemetry') return;
    const span = typeof traceId === 'string' && typeof spanId === 'string' ? { traceId, spanId } : null;
    // A context without a trace has no span that is exported.
    const isSampled = currentContext()?.trace?.isSampled === true;
    this.logExporter?.emit({
      timestamp: new Date(time),
      severityNumber: SEVERITIES[level] ?? SeverityNumber.UNSPECIFIED,
      severityText: level,
      body: msg ?? '',
      attributes: fields as AnyValueMap,
      context: span === null ? ROOT_CONTEXT : contextOf({ ...span, isSampled }, false),
    });
  }

  async shutdown(): Promise<void> {
    const stopped = Promise.allSettled([this.traces?.shutdown(), this.logs?.shutdown()]);
    await within(SHUTDOWN_MS, stopped, () => []);
    setTelemetry(null);
  }
}

type AttributesOfSpan = Record<string, string | number | boolean | string[]>;

interface LogLine extends Record<string, unknown> {
  readonly level: string;
  readonly time: string;
  readonly msg?: string;
}

/** Ids are known before a span is recorded: log lines, the database and agents have them. */
class GivenIds implements IdGenerator {
  next: Pick<TraceParent, 'traceId' | 'spanId'> | null = null;

  readonly generateTraceId = (): string => this.next?.traceId ?? newTraceId();
  readonly generateSpanId = (): string => this.next?.spanId ?? newSpanId();
}

const contextOf = ({ traceId, spanId, isSampled }: TraceParent, isRemote: boolean) =>
  trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    isRemote,
    traceFlags: isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
  });

/** The SDK takes small numbers for times since the start of the process, so a time is seconds and nanoseconds. */
const timeOf = (ms: number): [seconds: number, nanoseconds: number] => {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.floor((ms - seconds * 1000) * 1e6)];
};

function samplerOf({ otelTracesSampler: name, otelTracesSamplerArg: ratio }: TelemetrySettings): Sampler {
  const root = name.endsWith('always_on')
    ? new AlwaysOnSampler()
    : name.endsWith('always_off')
      ? new AlwaysOffSampler()
      : new TraceIdRatioBasedSampler(ratio);
  return name.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root;
}
