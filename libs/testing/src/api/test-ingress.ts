import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { INestApplication } from '@nestjs/common';
import { type Settings, withSettings } from '#platform/config';
import { Clock } from '#platform/kernel';
import { MovableClock } from '#platform/persistence';
import { createTestDatabase, type TestDatabase } from '../database/test-database.js';
import { WebhookBuilder } from '../webhook-builder.js';
import { CapturedLog } from './captured-log.js';
import { testSettings } from './test-api.js';

export interface TestIngress {
  /** Origin. */
  readonly url: string;
  /** With `ingressMetricsPort`. */
  readonly metricsUrl: string | null;
  readonly settings: Settings;
  readonly app: INestApplication;
  readonly database: TestDatabase;
  readonly webhooks: WebhookBuilder;
  readonly log: CapturedLog;
  /** Moves the time of database and application. */
  advanceClock(milliseconds: number): Promise<void>;
  close(): Promise<void>;
}

export interface TestIngressOptions {
  readonly settings?: Partial<Settings>;
  /** One that is there already; it is then not dropped at the end. */
  readonly database?: TestDatabase;
}

/** The ingress on a free port over its own database. */
export async function startTestIngress({
  settings: changes,
  database: given,
}: TestIngressOptions = {}): Promise<TestIngress> {
  const log = CapturedLog.install();
  const database = given ?? (await createTestDatabase());
  const dataDir = await mkdtemp(join(tmpdir(), 'headrace-test-data-'));
  const settings = withSettings(testSettings(database.url, dataDir), {
    publicUrl: 'https://runs.example',
    ...changes,
  });
  // Loaded here only: most tests of a library need no application.
  const { startIngress } = await import('#apps/ingress/src/main');
  const ingress = await startIngress(settings);
  const clock: unknown = ingress.app.get(Clock);
  return {
    url: ingress.url,
    metricsUrl: ingress.metricsUrl,
    settings,
    app: ingress.app,
    database,
    webhooks: new WebhookBuilder(database, settings),
    log,
    advanceClock: async (milliseconds) => {
      const shift = await database.advanceClock(milliseconds);
      if (clock instanceof MovableClock) await clock.reached(shift);
    },
    close: async () => {
      await ingress.close();
      if (!given) await database.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
