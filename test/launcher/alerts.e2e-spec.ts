import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { createDatabaseProxy, createTestDatabase, type DatabaseProxy, type TestDatabase } from '#testing';
import { freePort, Installation, type Program, runnersOf, until } from '../support/installation.js';
import { isLong } from '../support/long-tests.js';

const RULES = fileURLToPath(new URL('../../deploy/observability/alerts.yaml', import.meta.url));
const ALERTMANAGER = fileURLToPath(new URL('../../deploy/observability/alertmanager.yaml', import.meta.url));
const NO_PROMTOOL =
  spawnSync('promtool', ['--version']).error && '(promtool is not installed: apt-get install prometheus)';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly runbook_url: string };
}
const { groups } = parse(readFileSync(RULES, 'utf8')) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);

/** The value of each time series at one time. */
type Samples = ReadonlyMap<string, number>;

const COUNTER = /^\w+_(?:total|count)\{/;

/** Real metrics of a real installation before and during each fault, and the real rules; only time is simulated, by promtool. */
describe.skipIf(NO_PROMTOOL)(`alerts ${NO_PROMTOOL ?? ''}`.trim(), { timeout: 120_000 }, () => {
  let database: TestDatabase;
  let proxy: DatabaseProxy;
  let installation: Installation;
  let server: Program;
  let hook: { url: string; secret: string };
  let directory: string;
  /** A client beside the installation, whose transaction is rolled back after each test. */
  let client: pg.Client;
  const ports = { api: 0, ingress: 0, processor: 0 };
  const tested = new Set<string>();

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'headrace-alerts-'));
    database = await createTestDatabase();
    proxy = await createDatabaseProxy(database.url);
    for (const name of ['api', 'ingress', 'processor'] as const) ports[name] = await freePort();
    installation = await Installation.create({
      DATABASE_URL: proxy.url,
      API_METRICS_PORT: String(ports.api),
      INGRESS_METRICS_PORT: String(ports.ingress),
      PROCESSOR_METRICS_PORT: String(ports.processor),
      // Runs must not be lost when promtool and six processes share a slow machine.
      LEASE_TTL: '10s',
      MAX_CONCURRENT_RUNS: '3',
      MAX_CONCURRENT_RUNS_PER_TEAM: '3',
      NOTIFY_ALLOW_HTTP: 'true',
      NOTIFY_ALLOW_PRIVATE: 'loopback',
    });
    server = await installation.up();
    const { factory_uid: factory } = installation.connection;
    const created = await installation.call('POST', `/factories/${factory}/webhooks`, {
      name: 'events',
      auth_mode: 'token',
    });
    expect(created.status, JSON.stringify(created.body)).toBe(201);
    hook = { url: created.body.ingress_url, secret: created.body.secret };
    client = new pg.Client({ connectionString: database.url, options: '-c search_path=headrace' });
    await client.connect();
  }, 60_000);
  afterEach(async () => {
    await client.query('ROLLBACK');
  });
  afterAll(async () => {
    await client.end();
    await server.stop();
    await proxy.close();
    await database.close();
    installation.remove();
    rmSync(directory, { recursive: true, force: true });
  });

  /** What Prometheus would store of the three processes, with the labels that it adds. */
  async function scrape(): Promise<Samples> {
    const samples = new Map<string, number>();
    for (const [instance, port] of Object.entries(ports)) {
      const text = await fetch(`http://127.0.0.1:${port}/metrics`).then(
        (response) => response.text(),
        () => null,
      );
      samples.set(`up{job="headrace",instance="${instance}"}`, text === null ? 0 : 1);
      for (const line of text?.split('\n') ?? []) {
        const [, name, labels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
        const all = [labels, 'job="headrace"', `instance="${instance}"`].filter((label) => label !== '');
        if (name !== undefined) samples.set(`${name}{${all.join()}}`, Number(value));
      }
    }
    return samples;
  }

  async function value(name: string): Promise<number> {
    let sum = 0;
    for (const [series, one] of await scrape()) if (series.startsWith(name)) sum += one;
    return sum;
  }

  /**
   * How many instances of the alert promtool sees when `before` holds for ten minutes, and each of `after` for a minute, the last one for
   * longer, with counters that grow as before. `more`: further parts of the test of promtool.
   */
  function check(rule: Rule, before: Samples, after: readonly Samples[], firing: number, more: object = {}): void {
    const names = new Set([...before.keys(), ...after.flatMap((samples) => [...samples.keys()])]);
    const used = [...names].filter((series) => new RegExp(`\\b${series.split('{', 1)[0]}\\b`).test(rule.expr));
    expect(used, `time series of ${rule.expr}`).not.toEqual([]);
    const repeated = (sample: number | undefined, times: number): string =>
      sample === undefined ? `_x${times}` : `${sample}+0x${times - 1}`;
    const continued = (series: string): string => {
      const [previous, last] = [after.at(-2)?.get(series), after.at(-1)?.get(series)];
      if (previous === undefined || last === undefined || !COUNTER.test(series)) return repeated(last, 60);
      return `${last}+${last - previous}x59`;
    };
    const suite = join(directory, `${rule.alert}.yaml`);
    const test = {
      interval: '1m',
      input_series: used.map((series) => ({
        series,
        values: [
          repeated(before.get(series), 10),
          ...after.slice(0, -1).map((samples) => repeated(samples.get(series), 1)),
          continued(series),
        ].join(' '),
      })),
      promql_expr_test: [
        {
          expr: `count(max_over_time(ALERTS{alertname="${rule.alert}",alertstate="firing"}[40m])) or vector(0)`,
          eval_time: '40m',
          exp_samples: [{ labels: '{}', value: firing }],
        },
      ],
      ...more,
    };
    writeFileSync(suite, stringify({ rule_files: [RULES], evaluation_interval: '1m', tests: [test] }));
    const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', suite], { encoding: 'utf8' });
    expect(status, `${stdout}${stderr}\n${stringify(test.input_series)}`).toBe(0);
  }

  /** `fault` returns when the metrics show it. A second look is taken after `continued`. `more` is for the check of the fault. */
  async function expectAlerts(
    alerts: Readonly<Record<string, number>>,
    fault: () => Promise<void>,
    continued: () => Promise<void> = () => Promise.resolve(),
    more: object = {},
  ): Promise<void> {
    const before = await scrape();
    await fault();
    const during = await scrape();
    await continued();
    const after = await scrape();
    for (const [name, instances] of Object.entries(alerts)) {
      const rule = rules.find(({ alert }) => alert === name);
      if (!rule) throw new Error(`There is no alert ${name}.`);
      tested.add(name);
      check(rule, before, [before], 0);
      check(rule, before, [during, after], instances, more);
    }
  }

  const deliver = (body: object): Promise<number> =>
    fetch(hook.url, {
      method: 'POST',
      headers: { authorization: `Bearer ${hook.secret}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }).then(({ status }) => status);

  const cancel = (run: string) => installation.call('POST', `/agent/runs/${run}/cancel`);
  const fence = (script: string): string => `\`\`\`sh\n${script}\n\`\`\``;

  it('has rules and metrics that promtool accepts', async () => {
    const runs = ['check', 'rules', RULES];
    expect(spawnSync('promtool', runs, { encoding: 'utf8' })).toMatchObject({ status: 0 });
    for (const file of ['prometheus.yaml', 'prometheus-compose.yaml']) {
      const checked = spawnSync('promtool', ['check', 'config', join(dirname(RULES), file)], { encoding: 'utf8' });
      expect(checked, `${checked.stdout}${checked.stderr}`).toMatchObject({ status: 0 });
    }
    for (const port of Object.values(ports)) {
      const input = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      const ours = input.split('\n').filter((line) => /^(# \w+ )?(headrace|http)_/.test(line));
      const checked = spawnSync('promtool', ['check', 'metrics'], { input: `${ours.join('\n')}\n`, encoding: 'utf8' });
      expect(checked, `${checked.stdout}${checked.stderr}`).toMatchObject({ status: 0 });
    }
  });

  it('fires when hosted runs and runs of self-hosted workers wait', async () => {
    const blocking = await Promise.all([1, 2, 3].map(() => installation.createRun(fence('sleep 600'))));
    for (const run of blocking) await installation.waitFor(run, ['INPROGRESS']);
    let waiting: string[] = [];
    await expectAlerts({ HeadraceRunsWaitForSlots: 1, HeadraceRunsWaitForWorkers: 1 }, async () => {
      waiting = [
        await installation.createRun(fence('true')),
        await installation.createRun(fence('true'), { config: { worker_host: 'nowhere' } }),
      ];
      await client.query(`UPDATE runs SET queued_at = queued_at - interval '16 minutes' WHERE state = 'QUEUED'`);
      expect(await value('headrace_runs_queued')).toBe(2);
    });
    for (const run of [...blocking, ...waiting]) await cancel(run);
    for (const run of blocking) await installation.waitFor(run, ['CANCELLED']);
    await until(async () => (await value('headrace_slots_used')) === 0, 60_000, 'free slots');
  });

  it.runIf(isLong)('fires when runners are killed and their runs end with ERROR', async () => {
    await expectAlerts({ HeadraceRunnersLost: 1, HeadraceRunsError: 1 }, async () => {
      const runs = await Promise.all([1, 2, 3].map(() => installation.createRun(fence('sleep 600'))));
      for (const run of runs) await installation.waitFor(run, ['INPROGRESS']);
      for (const { pid } of runnersOf(server.child.pid ?? 0)) process.kill(pid, 'SIGKILL');
      for (const run of runs) await installation.waitFor(run, ['ERROR']);
    });
  });

  it.runIf(isLong)('fires when no message of a notification webhook is delivered', async () => {
    const url = `http://127.0.0.1:${await freePort()}/`;
    const created = await installation.call('POST', '/notification-webhooks', {
      name: 'lost',
      url,
      events: ['run.succeeded'],
    });
    expect(created.status, JSON.stringify(created.body)).toBe(201);
    await expectAlerts({ HeadraceNotificationsFail: 1 }, async () => {
      const { service_account_token: token } = installation.connection;
      for (let count = 0; count < 6; count += 1)
        expect((await installation.call('POST', '/agent/runs', { prompt: fence('true') }, token)).status).toBe(200);
      const attempts = 'headrace_notification_attempts_total{result="retry"';
      await until(async () => (await value(attempts)) >= 6, 60_000, 'six attempts');
    });
  });

  it.runIf(isLong)('fires when deliveries and due times wait for a transaction that does not end', async () => {
    const schedule = { name: 'often', cron_schedule: '0 * * * *', enabled: true, prompt: fence('true') };
    expect((await installation.call('POST', '/agent/schedules', schedule)).status).toBeLessThan(300);
    await expectAlerts({ HeadraceEvaluationDelayed: 1, HeadraceSchedulesDelayed: 1 }, async () => {
      await client.query('BEGIN; LOCK TABLE automation_triggers, timer_beat IN ACCESS EXCLUSIVE MODE');
      expect(await deliver({ number: 1 })).toBe(202);
      const other = new pg.Client({ connectionString: database.url, options: '-c search_path=headrace' });
      await other.connect();
      await other.query(`UPDATE webhook_deliveries SET received_at = received_at - interval '6 minutes'`);
      await other.query(`UPDATE timers SET fire_at = headrace.now() - interval '3 minutes'`);
      await other.end();
    });
  });

  it.runIf(isLong)('fires once for the process whose background tasks fail, and names them', async () => {
    const tasks = ['timers/fire-timers', 'timers/record-heartbeat'];
    const failures = async (each: number): Promise<void> => {
      for (const task of tasks) {
        const failed = `headrace_background_task_runs_total{task="${task}",result="failed"`;
        await until(async () => (await value(failed)) >= each, 60_000, `${each} failures of ${task}`);
      }
    };
    const alert = {
      exp_labels: { severity: 'warning', instance: 'processor' },
      exp_annotations: {
        summary: `Background tasks of processor fail: ${tasks.join(' ')}.`,
        runbook_url: rules.find(({ alert: name }) => name === 'HeadraceTasksFail')?.annotations.runbook_url,
      },
    };
    await expectAlerts(
      { HeadraceTasksFail: 1 },
      async () => {
        await client.query('ALTER TABLE timer_outages RENAME TO timer_outages_away');
        await failures(1);
      },
      () => failures(2),
      { alert_rule_test: [{ eval_time: '30m', alertname: 'HeadraceTasksFail', exp_alerts: [alert] }] },
    );
    await client.query('ALTER TABLE timer_outages_away RENAME TO timer_outages');
  });

  it.runIf(isLong)(
    'fires when the database is unavailable, without an alert about the tasks that fail meanwhile',
    async () => {
      const request = (): Promise<unknown> => installation.call('GET', '/agent/runs').catch(() => null);
      const failures = () => value('headrace_background_task_runs_total{task="timers/fire-timers",result="failed"');
      const tryAll = async (): Promise<void> => {
        for (let count = 0; count < 6; count += 1) {
          await request();
          expect(await deliver({ count })).toBe(503);
        }
        const count = await failures();
        await until(async () => (await failures()) > count, 60_000, 'a failure of a task');
      };
      await request();
      await expectAlerts(
        {
          ...{ HeadraceDatabaseUnavailable: 3, HeadraceApiErrors: 1, HeadraceDeliveriesRejected: 1 },
          ...{ HeadraceTasksFail: 0, HeadraceNoProcessor: 0 },
        },
        async () => {
          await proxy.cut();
          await tryAll();
        },
        tryAll,
      );
      await proxy.restore();
    },
  );

  it.runIf(isLong)('fires when processes do not answer, among them every processor', async () => {
    await expectAlerts(
      { HeadraceProcessDown: 3, HeadraceNoProcessor: 1 },
      async () => void (await server.stop('SIGKILL')),
    );
  });

  it.runIf(isLong)('is tested for each rule', () => {
    expect([...tested].toSorted()).toEqual(rules.map(({ alert }) => alert).toSorted());
  });

  it('has a runbook for each rule', () => {
    const runbook = readFileSync(fileURLToPath(new URL('../../docs/operations/alerts.md', import.meta.url)), 'utf8');
    for (const { alert, annotations } of rules) {
      expect(annotations.runbook_url).toBe(`https://docs.example.com/operations/alerts.html#${alert.toLowerCase()}`);
      expect(runbook).toContain(`## ${alert}\n`);
    }
  });

  it('is silenced by Alertmanager only under names that exist', () => {
    const { inhibit_rules: inhibitions } = parse(readFileSync(ALERTMANAGER, 'utf8')) as {
      inhibit_rules: { source_matchers: string[]; target_matchers: string[] }[];
    };
    const matchers = inhibitions.flatMap((rule) => [...rule.source_matchers, ...rule.target_matchers]);
    const named = matchers.flatMap((matcher) => matcher.match(/Headrace\w+/g) ?? []);
    expect(named).toContain('HeadraceDatabaseUnavailable');
    expect(rules.map(({ alert }) => alert)).toEqual(expect.arrayContaining(named));
  });
});
