import 'reflect-metadata';
import { type INestApplicationContext, Injectable, Module, type OnModuleInit } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { withSettings } from '#platform/config';
import { QueueConnections } from '#platform/jobs';
import { Executor, ExecutorRegistry, ExecutorsModule, FinishExecution, type Offer } from '#execution/executions';
import { RunsModule, RunsWork } from '#domain/runs';
import { startTestApi, type TestApi } from '#testing';
import { ProcessorModule } from '../../apps/processor/src/processor.module.js';

/** An executor as an extension can add it. It fails every execution. */
@Injectable()
class FailingExecutor extends Executor implements OnModuleInit {
  readonly offers: Offer[] = [];
  isPrepared = false;

  constructor(
    private readonly registry: ExecutorRegistry,
    private readonly finish: FinishExecution,
  ) {
    super();
  }

  onModuleInit(): void {
    this.registry.register('full-house', this);
  }

  override prepare(): Promise<void> {
    this.isPrepared = true;
    return Promise.resolve();
  }

  override launch(offer: Offer): void {
    this.offers.push(offer);
    const failure = { code: 'environment_setup_failed', message: 'The house is full.' };
    void this.finish.fail(offer.executionId, failure);
  }

  override drain(): Promise<void> {
    return Promise.resolve();
  }
}

@Module({ imports: [ExecutorsModule, RunsModule], providers: [FailingExecutor] })
class FailingExecutorModule {}

let api: TestApi;
let processor: INestApplicationContext;

beforeAll(async () => {
  api = await startTestApi();
  const settings = withSettings(api.settings, { executor: 'full-house' });
  const module = { module: class {}, imports: [ProcessorModule.of(settings), FailingExecutorModule] };
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

it('offers runs to an executor that is registered outside of the libraries and selected by EXECUTOR', async () => {
  const { token } = await api.identities.user({ [await api.identities.team()]: 'member' });
  const { run_id: runId } = (await api.request(200, 'POST /agent/runs', { token, body: { prompt: 'hello' } })).body;
  await expect
    .poll(async () => (await api.request(200, `GET /agent/runs/${runId}`, { token })).body, { timeout: 20_000 })
    .toMatchObject({
      state: 'FAILED',
      status_message: { error_code: 'environment_setup_failed', message: 'The house is full.' },
    });
  const failing = processor.get(FailingExecutor, { strict: false });
  expect(failing.isPrepared).toBe(true);
  expect(failing.offers.map((offer) => offer.runId)).toEqual([runId]);
});
