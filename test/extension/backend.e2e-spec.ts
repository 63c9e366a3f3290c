import 'reflect-metadata';
import { type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { withSettings } from '#platform/config';
import { QueueConnections } from '#platform/jobs';
import { Extension } from '#platform/plugins';
import { Backend, type BackendTask, type FoundTask, type RunningTask, SetupFault } from '#execution/backends';
import { RunsWork } from '#domain/runs';
import { pluginOf, startTestApi, type TestApi } from '#testing';
import { ProcessorModule } from '../../apps/processor/src/processor.module.js';

/** A backend as an extension can add it. It fails every execution. */
@Extension()
class FailingBackend extends Backend {
  override readonly name = 'full-house';
  override readonly claimDeadlines = 1;
  override isReady = false;
  readonly started: string[] = [];

  override prepare(): Promise<void> {
    this.isReady = true;
    return Promise.resolve();
  }

  override check(): Promise<boolean> {
    return Promise.resolve(false);
  }

  override start({ executionId }: BackendTask): Promise<RunningTask> {
    this.started.push(executionId);
    return Promise.reject(new SetupFault('The house is full.'));
  }

  override reattach(): Promise<null> {
    return Promise.resolve(null);
  }

  override list(): Promise<FoundTask[]> {
    return Promise.resolve([]);
  }

  override remove(): Promise<void> {
    return Promise.resolve();
  }
}

@Module({ providers: [FailingBackend] })
class FailingBackendModule {}

let api: TestApi;
let processor: INestApplicationContext;

beforeAll(async () => {
  api = await startTestApi();
  const settings = withSettings(api.settings, { executor: 'full-house' });
  const module = ProcessorModule.of(settings, [pluginOf(FailingBackendModule, ['processor'])]);
  processor = await NestFactory.createApplicationContext(module, { logger: false, abortOnError: false });
  await processor.get(RunsWork).start();
});
afterAll(async () => {
  await processor.get(RunsWork).drain();
  const queues = processor.get(QueueConnections, { strict: false });
  await processor.close();
  await queues.end();
  await api.close();
});

it('starts runs on a backend that is registered outside of the libraries and selected by EXECUTOR', async () => {
  const { token } = await api.identities.user({ [await api.identities.team()]: 'member' });
  const { run_id: runId } = (await api.request(200, 'POST /agent/runs', { token, body: { prompt: 'hello' } })).body;
  await expect
    .poll(async () => (await api.request(200, `GET /agent/runs/${runId}`, { token })).body, { timeout: 20_000 })
    .toMatchObject({
      state: 'FAILED',
      status_message: { error_code: 'environment_setup_failed', message: 'The house is full.' },
    });
  const failing = processor.get(FailingBackend, { strict: false });
  const executions = await api.database.query<{ id: string }>('SELECT id FROM executions WHERE run_id = $1', [runId]);
  expect(failing.started).toEqual(executions.map(({ id }) => id));
});
