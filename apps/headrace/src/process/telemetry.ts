import type { Settings } from '#platform/config';
import { startTelemetry } from '#platform/observability';
import type { ClosingStack } from './run-server.js';

/** Before any other part is opened, so that it is closed after all of them and exports what they have reported. */
export async function openTelemetry(settings: Settings, opened: ClosingStack): Promise<void> {
  const telemetry = await startTelemetry(settings);
  if (telemetry !== null) opened.add('telemetry', () => telemetry.shutdown());
}
