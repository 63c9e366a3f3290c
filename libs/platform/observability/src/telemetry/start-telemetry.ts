import { followAsynchronousCode } from '../request-context.js';
import { setTelemetry, type Telemetry, telemetry, type TelemetrySettings } from './telemetry.js';

/** Null without an endpoint: then the SDK is not even loaded. Stopped by its `shutdown`. */
export async function startTelemetry(settings: TelemetrySettings): Promise<Telemetry | null> {
  const { otelExporterOtlpEndpoint: endpoint } = settings;
  if (endpoint === undefined || telemetry() !== null) return null;
  const { OpenTelemetry } = await import('./open-telemetry.js');
  const started = new OpenTelemetry(settings, endpoint);
  setTelemetry(started);
  followAsynchronousCode();
  return started;
}
