import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ChaosClient } from './chaos-client.js';
import { listRuns } from './checks.js';
import { drain, poll, queryAt } from './drain.js';
import { FAULTS, startObjectStore, type Stores } from './faults.js';
import { Ledger } from './ledger.js';
import { LogWatch } from './log-watch.js';
import { chaosOptions } from './options.js';
import { type Probe, Probes } from './probes.js';
import { type SeparateInstallation, startSeparateInstallation } from './separate-installation.js';
import { isLong } from '../support/long-tests.js';

const { stallTimeoutMs } = chaosOptions(process.env);
const MINUTE = 60_000;
/** Keeps operation, status and the beginning of the body, so that equal failures are listed once. */
const shortened = (answer: string): string => answer.slice(0, 60);
/** Statements are cancelled after 30 s; the rest of a request needs additional time. */
const ANSWER_LIMIT_MS = 40_000;

describe.runIf(isLong)('single faults of the stores', () => {
  const ledger = new Ledger();
  const log = new LogWatch();
  let objects: Awaited<ReturnType<typeof startObjectStore>>;
  let installation: SeparateInstallation;
  let probes: Probes;
  let stores: Stores;

  beforeAll(async () => {
    objects = await startObjectStore();
    // LEASE_TTL has its default, because a shorter fault must not end a run.
    const settings = { ...objects.settings, LEASE_TTL: '90s', WEBHOOK_RATE_LIMIT: '600' };
    installation = await startSeparateInstallation({ withRedis: false, settings }, log, () => 0);
    const { postgres, database } = installation;
    stores = { postgres, database, objects: objects.proxy };
    probes = new Probes(installation.access, ledger);
    await probes.start();
  }, 5 * MINUTE);

  afterAll(async () => {
    await installation.dispose();
    await objects.stop();
  }, MINUTE);

  const hasRecovered = (since: number): boolean =>
    ['list', 'delivery', 'create', 'create with a file'].every((operation) =>
      probes.sent.some(
        (probe) =>
          probe.operation === operation && probe.startedAt > since && (probe.status ?? 0) in { 200: 1, 202: 1 },
      ),
    );
  const isLate = ({ startedAt, endedAt }: Probe): boolean =>
    (endedAt ?? performance.now()) - startedAt > ANSWER_LIMIT_MS;

  it.each(FAULTS)(
    'answers in time or with a documented 503, and recovers without a repair: $name',
    { timeout: 4 * MINUTE },
    async (fault) => {
      const [answersBefore, probesBefore] = [ledger.wrongAnswers.length, probes.sent.length];
      const end = await fault.begin(stores);
      await delay(fault.seconds * 1000);
      await end();
      const endedAt = performance.now();
      const recovered = await poll(stallTimeoutMs, () => {
        const value = hasRecovered(endedAt);
        return Promise.resolve({ value, done: value, moved: false });
      });
      expect(recovered).toBe(true);
      expect([...new Set(ledger.wrongAnswers.slice(answersBefore).map(shortened))]).toEqual([]);
      expect(probes.sent.slice(probesBefore).filter(isLate)).toEqual([]);
    },
  );

  it('loses no run and no server process after all faults', { timeout: 10 * MINUTE }, async () => {
    await probes.stop();
    const query = queryAt(() => installation.databaseUrl());
    const remaining = await drain(query, stallTimeoutMs);
    expect(Object.values(remaining).filter((count) => count !== 0)).toEqual([]);
    const runs = await listRuns(new ChaosClient(installation.access, ledger));
    const states = new Map(runs.map(({ run_id, state, status_message: status }) => [run_id, { state, status }]));
    const failed = probes.runs.map((id) => ({ id, ...states.get(id) })).filter(({ state }) => state !== 'SUCCEEDED');
    expect(failed).toEqual([]);
    expect(installation.servers.flatMap(({ unexplained }) => unexplained)).toEqual([]);
  });
});
