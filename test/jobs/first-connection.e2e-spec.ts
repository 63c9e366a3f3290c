import 'reflect-metadata';
import { type INestApplicationContext, Logger, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { parseSettings, Settings } from '#platform/config';
import { BackgroundTasks, defineTask, JobsModule, QueueConnections } from '#platform/jobs';
import { createDatabaseProxy, createTestDatabase, type DatabaseProxy, type TestDatabase } from '#testing';

const task = defineTask({
  name: 'count-runs',
  library: 'first-connection',
  process: 'processor',
  scope: 'cluster',
  period: 3_600_000,
  description: 'Counts its runs.',
  wakeUp: { by: 'the test', coalesceMs: 1 },
  queue: { name: 'first-connection', options: { concurrency: 1, runRetryDelay: 100 } },
  // The processors of other test files in this process do not implement it.
  condition: 'this test',
});
const run = vi.fn(() => Promise.resolve());

@Module({
  providers: [
    {
      provide: 'TASK',
      inject: [BackgroundTasks],
      useFactory: (tasks: BackgroundTasks) => tasks.implement(task, run, { startsBy: 'owner' }),
    },
  ],
})
class TaskModule {}

let database: TestDatabase;
let proxy: DatabaseProxy;
let context: INestApplicationContext;

beforeEach(async () => {
  database = await createTestDatabase();
  proxy = await createDatabaseProxy(database.url);
});
afterEach(async () => {
  vi.restoreAllMocks();
  const queues = context.get(QueueConnections, { strict: false });
  await context.close();
  await queues.end();
  await proxy.close();
  await database.close();
});

it('handles jobs after the first connection of a queue and of its worker failed', async () => {
  const warn = vi.spyOn(Logger.prototype, 'warn');
  await proxy.cut();
  const settings = { provide: Settings, useValue: parseSettings({ DATABASE_URL: proxy.url }) };
  context = await NestFactory.createApplicationContext(
    {
      module: class {},
      global: true,
      imports: [JobsModule.forRoot(), TaskModule],
      providers: [settings],
      exports: [Settings],
    },
    { abortOnError: false },
  );
  const tasks = context.get(BackgroundTasks, { strict: false });
  tasks.wake(task);
  const lost = expect.stringMatching(/^A wake-up of count-runs was lost: .*ECONNREFUSED/);
  await vi.waitFor(() => expect(warn).toHaveBeenCalledWith(lost));
  await proxy.restore();
  tasks.wake(task);
  await vi.waitFor(() => expect(run).toHaveBeenCalled(), 10_000);
});
