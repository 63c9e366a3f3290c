import type { Settings } from '#platform/config';
import { startTelemetry } from '#platform/observability';

interface ClosedLater {
  add(name: string, close: () => Promise<void>): void;
}

/** Before any other part is opened, so that it is closed after all of them and exports what they have reported. */
export async function openTelemetry(settings: Settings, opened: ClosedLater): Promise<void> {
  const telemetry = await startTelemetry(settings);
  if (telemetry !== null) opened.add('telemetry', () => telemetry.shutdown());
}
