import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import type { RunningApp, Settings } from '#platform/config';
import { QueueConnections } from '#platform/jobs';
import { serveMetrics } from '#platform/observability';
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
  try {
    await app.init();
    metrics = await serveMetrics(app, settings.metricsHost, settings.processorMetricsPort);
    await runs.start();
  } catch (error) {
    await close();
    throw error;
  }
  return {
    url: null,
    async close() {
      await runs.drain();
      await close();
    },
  };
}
