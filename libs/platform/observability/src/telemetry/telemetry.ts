import type { Settings } from '#platform/config';
import type { TraceParent } from '#platform/kernel';

export type TelemetrySettings = Pick<
  Settings,
  | 'otelExporterOtlpEndpoint'
  | 'otelExporterOtlpHeaders'
  | 'otelExporterOtlpTimeout'
  | 'otelTracesExporter'
  | 'otelLogsExporter'
  | 'otelServiceName'
  | 'otelResourceAttributes'
  | 'otelTracesSampler'
  | 'otelTracesSamplerArg'
>;

export type AttributeValue = string | number | boolean | readonly string[];
/** Attributes that are undefined are omitted. Never prompts, outputs, arguments of tools, tokens, or values of queries. */
export type SpanAttributes = Readonly<Record<string, AttributeValue | undefined>>;

/** A span that has ended. */
export interface EndedSpan {
  readonly name: string;
  readonly kind: 'server' | 'client' | 'internal';
  readonly context: TraceParent;
  readonly parentSpanId: string | null;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly attributes: SpanAttributes;
  /** A class of errors, such as a status or an error code; absent: it did not fail. */
  readonly errorType?: string | undefined;
  /** The schema that names and attributes follow; absent: none. */
  readonly schemaUrl?: string;
}

/** What exports traces and logs of this process. */
export interface Telemetry {
  /** Whether logs are exported. */
  readonly exportsLogs: boolean;
  /** Decided once for each trace: all spans of a trace are exported, or none. */
  isSampled(traceId: string, parent: TraceParent | null): boolean;
  /** Never throws and never waits: spans are dropped when too many of them wait for the receiver. */
  record(span: EndedSpan): void;
  /** A line of the log, as JSON. */
  writeLine(line: string): void;
  /** Exports what waits, within a few seconds. Never rejects. */
  shutdown(): Promise<void>;
}

let active: Telemetry | null = null;

/** Null while telemetry is off: no module of the SDK is loaded, and callers have nothing to do. */
export const telemetry = (): Telemetry | null => active;

/** One for each process, because the log is one as well. */
export function setTelemetry(value: Telemetry | null): void {
  active = value;
}
