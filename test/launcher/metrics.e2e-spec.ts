import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { parseSettings } from '#platform/config';
import { createTestDatabase, DeliveryBuilder, ScheduleBuilder, type TestDatabase, WebhookBuilder } from '#testing';
import { freePort, Installation, type Program } from '../support/installation.js';

const SECRETS_KEY = 'a-key-for-tests-only-0123456789abcdef';
let database: TestDatabase;
let installation: Installation;
const programs: Program[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  installation = await Installation.create({
    ...{ DATABASE_URL: database.url, SECRETS_KEY, INGRESS_METRICS_PORT: '0', PROCESSOR_METRICS_PORT: '0' },
    ...{ API_METRICS_PORT: '0', PORT: '0' },
    ...{ DATABASE_POOL_SIZE: '4', QUEUE_POOL_SIZE: '6' },
  });
}, 60_000);
afterAll(async () => {
  for (const program of programs) await program.stop();
  await database.close();
  installation.remove();
});

/** Starts the process, and returns a function that requests its metrics. */
async function start(name: 'api' | 'ingress' | 'processor'): Promise<() => Promise<string>> {
  const program = installation.start(name);
  programs.push(program);
  await program.says(`Headrace ${name === 'api' ? 'API' : name} is ready`);
  // The order of the two lines is not defined.
  await program.says('/metrics');
  const url = /Metrics are served at (http:[^" ]+\/metrics)/.exec(program.text)?.[1] ?? '';
  expect(new URL(url).hostname).toBe('127.0.0.1');
  expect((await fetch(new URL('/healthz', url))).status).toBe(200);
  return async () => (await fetch(url)).text();
}

function valueOf(text: string, series: string): number {
  return Number(new RegExp(`^${series} (.+)$`, 'm').exec(text)?.[1]);
}

it('serves deliveries, their evaluation and due times as metrics of the processor', { timeout: 120_000 }, async () => {
  const hook = await new WebhookBuilder(database, parseSettings({ SECRETS_KEY })).webhook();
  await new DeliveryBuilder(database).buildMany(hook.id, 3);
  await new ScheduleBuilder(database).buildMany(2, () => ({
    teamUid: hook.teamUid,
    cron: '0 0 1 1 *',
    dueAt: new Date(),
  }));
  const metrics = await start('processor');
  await vi.waitFor(
    async () => {
      const text = await metrics();
      expect(text).toContain('headrace_webhook_evaluations_total{end="evaluated"} 3\n');
      expect(text).toContain('headrace_timer_firings_total{kind="schedule",outcome="done"} 2\n');
    },
    { timeout: 20_000, interval: 50 },
  );
  const text = await metrics();
  expect(text).toMatch(/^headrace_webhook_deliveries_waiting 0$/m);
  expect(text).toMatch(/^headrace_webhook_evaluation_lag_seconds_count 3$/m);
  expect(valueOf(text, 'headrace_webhook_evaluation_lag_seconds_sum')).toBeGreaterThan(0);
  expect(text).toContain('process_cpu_seconds_total');
});

it('serves the worker connections as metrics of the API', { timeout: 120_000 }, async () => {
  const metrics = await start('api');
  expect(await metrics()).toContain('headrace_worker_connections 0');
});

it('serves the request results as metrics of the ingress', { timeout: 120_000 }, async () => {
  const metrics = await start('ingress');
  expect(await metrics()).toContain('headrace_ingress_requests_total{result="accepted"} 0');
});

it(
  'counts and measures runs, and all metrics are documented and those of the dashboard exist',
  { timeout: 120_000 },
  async () => {
    const ports = {
      API_METRICS_PORT: await freePort(),
      INGRESS_METRICS_PORT: await freePort(),
      PROCESSOR_METRICS_PORT: await freePort(),
    };
    const alone = await Installation.create(
      Object.fromEntries(Object.entries(ports).map(([name, port]) => [name, String(port)])),
    );
    const server = await alone.up();
    try {
      const runId = await alone.createRun('```sh\necho hello\n```');
      await alone.waitFor(runId, ['SUCCEEDED']);
      const cancelled = await alone.createRun('```sh\nsleep 60\n```');
      await alone.waitFor(cancelled, ['INPROGRESS']);
      await alone.call('POST', `/agent/runs/${cancelled}/cancel`);
      await alone.waitFor(cancelled, ['CANCELLED']);
      const metrics = async (): Promise<string> => {
        const texts = Object.values(ports).map(async (port) =>
          (await fetch(`http://127.0.0.1:${port}/metrics`)).text(),
        );
        return (await Promise.all(texts)).join('');
      };
      await vi.waitFor(async () => {
        const text = await metrics();
        for (const expected of [
          'headrace_runs_created_total{source="API"} 2',
          'headrace_run_placements_total{executor="hosted"} 2',
          ...['PENDING', 'CLAIMED', 'INPROGRESS'].map(
            (state) => `headrace_run_state_changes_total{state="${state}"} 2`,
          ),
          ...['SUCCEEDED', 'CANCELLED'].map((state) => `headrace_run_state_changes_total{state="${state}"} 1`),
          ...['queued', 'offered', 'setup', 'turn'].map(
            (phase) => `headrace_run_phase_seconds_count{phase="${phase}",executor="hosted"} 2`,
          ),
          'headrace_executions_ended_total{executor="hosted",reason="cancelled"} 1',
          'headrace_runners_lost_total{executor="hosted"} 0',
          'headrace_executions{executor="hosted",phase="idle"} 1',
          'headrace_slots_used{executor="hosted"} 0',
          'headrace_runs_queued{executor="hosted",owner="team"} 0',
          'headrace_snapshots_total{result="stored"} 2',
        ])
          expect(text).toContain(`${expected}\n`);
      });
      const text = await metrics();
      const names = new Set([...text.matchAll(/^# TYPE (headrace_\w+|http_\w+) /gm)].map(([, name = '']) => name));
      const documented = readFileSync(new URL('../../docs/operations/metrics.md', import.meta.url), 'utf8');
      expect([...names].filter((name) => !documented.includes(`\`${name}`))).toEqual([]);
      const dashboard = readFileSync(new URL('../../deploy/observability/dashboard.json', import.meta.url), 'utf8');
      const shown = [...dashboard.matchAll(/headrace_\w+|http_request_\w+/g)].map(([name]) =>
        name.replace(/_(bucket|count|sum)$/, ''),
      );
      expect(shown.filter((name) => !names.has(name) && name !== 'headrace')).toEqual([]);
    } finally {
      await server.stopCleanly();
      alone.remove();
    }
  },
);
