import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import type { RunningApp, Settings } from '#libs/config';
import { QueueConnections } from '#libs/jobs';
import { RunsWork } from '#libs/runs';
import { ProcessorModule } from './processor.module.js';

/** Starts the background work. It has no listener. */
export async function startProcessor(settings: Settings): Promise<RunningApp> {
  const app = await NestFactory.createApplicationContext(ProcessorModule.of(settings), {
    abortOnError: false,
    bufferLogs: false,
  });
  const close = async (): Promise<void> => {
    const queues = app.get(QueueConnections, { strict: false });
    await app.close();
    await queues.end();
  };
  const runs = app.get(RunsWork);
  try {
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
