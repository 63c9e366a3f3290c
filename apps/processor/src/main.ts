import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import type { RunningApp, Settings } from '#platform/config';
import { QueueConnections } from '#platform/jobs';
import { serveMetrics } from '#platform/observability';
import { Database, InstallationHold } from '#platform/persistence';
import { RunsWork } from '#domain/runs';
import type { MetricsServer } from '#platform/kernel';
import type { LoadedPlugin } from '#platform/plugins';
import { ProcessorModule } from './processor.module.js';

/** Starts the background work. It has no listener but that of its metrics, where there is a port for them. */
export async function startProcessor(settings: Settings, plugins: readonly LoadedPlugin[] = []): Promise<RunningApp> {
  // `createApplicationContext` would return nothing to close when a hook fails.
  const app = await NestFactory.create(ProcessorModule.of(settings, plugins), {
    abortOnError: false,
    bufferLogs: false,
  });
  let metrics: MetricsServer | null = null;
  const close = async (): Promise<void> => {
    metrics?.close();
    const queues = app.get(QueueConnections, { strict: false });
    await app.close();
    await queues.end();
  };
  const runs = app.get(RunsWork);
  const start = async (): Promise<void> => {
    await app.init();
    await runs.start();
  };
  const closing = new AbortController();
  const database = app.get(Database, { strict: false });
  let held: Promise<boolean> | null = null;
  try {
    metrics = await serveMetrics(app, settings.metricsHost, settings.processorMetricsPort);
    // The other processes start: an operator looks at the restored installation before its work continues.
    if (await InstallationHold.isHeld(database))
      held = InstallationHold.untilReleased(database, closing.signal).then(async (isReleased) => {
        if (isReleased) await start();
        return isReleased;
      });
    else await start();
  } catch (error) {
    await close();
    throw error;
  }
  // As any fault that no caller handles: the process ends with an error instead of being there without work.
  held?.catch((error: unknown) => {
    setImmediate(() => {
      throw error;
    });
  });
  return {
    url: null,
    async close() {
      closing.abort();
      // Without a start there is no work to drain.
      if (held === null || (await held.catch(() => false))) await runs.drain();
      await close();
    },
  };
}
