import {
  decimal,
  EVERY_PROCESS,
  integer,
  literal,
  namedTexts,
  publicOrigin,
  settingGroup,
  text,
} from '../setting-kinds.js';

export const TELEMETRY_SETTINGS = {
  ...settingGroup('OpenTelemetry', EVERY_PROCESS, {
    otelExporterOtlpEndpoint: publicOrigin().describe(
      'Base URL of a receiver of OTLP over HTTP (protobuf), to which /v1/traces and /v1/logs are appended, such as http://127.0.0.1:4318. Default: telemetry is off. See docs/operations/tracing.md.',
    ),
    otelExporterOtlpHeaders: namedTexts().describe(
      'Headers of requests to the receiver, such as a token; values are percent-encoded. A secret: no agent gets it.',
    ),
    otelExporterOtlpTimeout: integer(10_000, 100, 60_000).describe(
      'Milliseconds after which an export, with its retries, is given up.',
    ),
    otelTracesExporter: literal('otlp', ['otlp', 'none']).describe(
      'Whether traces are exported to OTEL_EXPORTER_OTLP_ENDPOINT.',
    ),
    otelLogsExporter: literal('none', ['otlp', 'none']).describe(
      'Whether the lines of the log are exported to OTEL_EXPORTER_OTLP_ENDPOINT besides being written to the output.',
    ),
    otelServiceName: text('headrace').describe('Name of the service in telemetry.'),
    otelResourceAttributes: namedTexts().describe(
      'Further attributes of the service in telemetry, such as deployment.environment.name=production; values are percent-encoded.',
    ),
    otelTracesSampler: literal('parentbased_always_on', [
      'always_on',
      'always_off',
      'traceidratio',
      'parentbased_always_on',
      'parentbased_always_off',
      'parentbased_traceidratio',
    ]).describe(
      'Which traces are exported. parentbased: as the sender of the traceparent has decided, if there is one.',
    ),
    otelTracesSamplerArg: decimal(1, 0, 1).describe('Part of the traces that traceidratio exports.'),
    genaiSemconvVersion: literal('1.41.0', ['1.41.0', '1.36.0']).describe(
      'Version of the semantic conventions of OpenTelemetry that names and attributes of turns and tool calls follow. These conventions are not stable: a new version of Headrace does not change the version that is set here.',
    ),
  }),
} as const;
