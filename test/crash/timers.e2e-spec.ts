import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { newUid } from '#platform/kernel';
import { TIMER_STEPS } from '../../libs/platform/timers/src/timer-dispatcher.js';
import { parseCron } from '../../libs/platform/timers/src/domain/cron/parse-cron.js';
import { AutomationBuilder } from '../../libs/testing/src/automation-builder.js';
import { createTestDatabase, type TestDatabase } from '../../libs/testing/src/database/test-database.js';
import { ScheduleBuilder } from '../../libs/testing/src/schedule-builder.js';
import { tick, until } from '../support/installation.js';
import { isLong } from '../support/long-tests.js';
import { FLAGS_OF_SHORT_PROCESSES } from '../support/node-flags.js';

const KILLS = isLong ? 50 : 2;
const MINUTE = 60_000;
/** Shorter than an outage, so that the remaining processes send a heartbeat between two steps. */
const STEP_MS = 15_000;
/** The maximum age of the last heartbeat; an outage begins at 30 s. */
const MAX_HEARTBEAT_AGE_MS = 20_000;

/** Processes that fire timers are killed at every named step, and at random times of an accelerated clock. */
describe('timers of killed processes', { timeout: 600_000 }, () => {
  let database: TestDatabase;
  let dataDir: string;
  let teamUid: string;
  let factoryUid: string;
  const processes = new Set<ChildProcess>();
  let clockLimit = Promise.resolve();
  let isOver = false;

  beforeAll(async () => {
    database = await createTestDatabase();
    dataDir = await mkdtemp(join(tmpdir(), 'headrace-test-timers-'));
    teamUid = newUid();
    factoryUid = newUid();
    await database.query(`INSERT INTO headrace.teams (uid, name) VALUES ($1, 'timers')`, [teamUid]);
    await database.query(`INSERT INTO headrace.factories (uid, team_uid, name) VALUES ($1, $2, 'timers')`, [
      factoryUid,
      teamUid,
    ]);
  });
  afterEach(async () => {
    isOver = true;
    await clockLimit;
    for (const child of processes) child.kill('SIGKILL');
  });
  afterAll(async () => {
    await database.close();
    await rm(dataDir, { recursive: true, force: true });
  });

  const start = (more: Record<string, string>): ChildProcess => {
    const child = spawn(
      process.execPath,
      [...FLAGS_OF_SHORT_PROCESSES, join(inject('programsDir'), 'timer-process.js')],
      {
        env: {
          PATH: process.env.PATH,
          DATABASE_URL: database.url,
          HEADRACE_DATA_DIR: dataDir,
          HEADRACE_TEST_CLOCK: 'true',
          SECRETS_KEY: 'a-key-for-tests-only-0123456789abcdef',
          LOG_LEVEL: 'warn',
          SCHEDULE_POLL: '50ms',
          DATABASE_POOL_SIZE: '10',
          ...more,
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    processes.add(child);
    child.once('exit', () => processes.delete(child));
    return child;
  };
  const ended = (child: ChildProcess): Promise<{ how: number | NodeJS.Signals | null; output: string }> =>
    new Promise((resolve) => {
      let output = '';
      child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
      child.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString()));
      child.once('close', (code, signal) => {
        resolve({ how: signal ?? code, output });
      });
    });
  const begun = (child: ChildProcess): Promise<void> =>
    new Promise((resolve) => child.stdout?.once('data', () => resolve()));
  const now = async (): Promise<Date> => {
    const [row] = await database.query<{ now: Date }>('SELECT headrace.now() AS now');
    return row?.now ?? new Date(0);
  };
  const isSettled = async (): Promise<boolean> => {
    const [row] = await database.query<{ due: number }>(
      'SELECT count(*)::int AS due FROM headrace.timers WHERE fire_at <= headrace.now()',
    );
    return row?.due === 0;
  };
  /** Whether a process has polled the timers since the clock was advanced. */
  const hasPolled = async (): Promise<boolean> => {
    const [row] = await database.query<{ looked: boolean }>(
      `SELECT at > headrace.now() - $1 * interval '1 millisecond' AS looked FROM headrace.timer_beat`,
      [STEP_MS / 2],
    );
    return row?.looked === true;
  };
  /**
   * Sets the clock back when no process has polled for long. On a busy machine the start of processes can take longer than
   * an outage, and this test is not about outages.
   */
  const limitHeartbeatAge = async (): Promise<void> => {
    const [row] = await database.query<{ age: number }>(
      'SELECT extract(epoch FROM headrace.now() - at)::float8 * 1000 AS age FROM headrace.timer_beat',
    );
    if (row && row.age > MAX_HEARTBEAT_AGE_MS) await database.advanceClock(MAX_HEARTBEAT_AGE_MS - row.age);
  };
  const nextMinute = (at: Date): Date => new Date(Math.floor(at.getTime() / MINUTE) * MINUTE + MINUTE);
  const firingsOf = async (uid: string): Promise<string[]> =>
    (
      await database.query<{ due_at: Date; outcome: string }>(
        'SELECT due_at, outcome FROM headrace.schedule_firings WHERE schedule_uid = $1 ORDER BY due_at',
        [uid],
      )
    ).map(({ due_at: dueAt, outcome }) => `${dueAt.toISOString()} ${outcome}`);
  const runsOf = async (uid: string): Promise<number> =>
    (await database.query(`SELECT 1 FROM headrace.runs WHERE schedule->>'schedule_id' = $1`, [uid])).length;

  const dueAtOf = new Map<string, Date>();
  it.each(TIMER_STEPS)('interrupts a process that fires timers with SIGKILL at “%s”', async (step) => {
    const dueAt = nextMinute(new Date((await now()).getTime() - 2 * MINUTE));
    const uids = await new ScheduleBuilder(database).buildMany(12, () => ({ teamUid, dueAt, cron: '0 0 1 1 *' }));
    for (const uid of uids) dueAtOf.set(uid, dueAt);
    const killed = await ended(start({ KILL_AT: `${step}:1` }));
    expect(killed.how, killed.output).toBe('SIGKILL');
  });

  it('starts one run for each due time after all interruptions', async () => {
    const finished = await ended(start({}));
    expect(finished.output).toContain('everything is fired');
    expect(dueAtOf.size).toBe(TIMER_STEPS.length * 12);
    for (const [uid, dueAt] of dueAtOf) {
      expect(await firingsOf(uid)).toEqual([`${dueAt.toISOString()} started`]);
      expect(await runsOf(uid)).toBe(1);
    }
  });

  it(`fires each due time once during ${KILLS} kills of three processes`, async () => {
    for (const table of ['timers', 'timer_beat', 'timer_outages', 'schedules', 'runs'])
      await database.query(`DELETE FROM headrace.${table}`);
    const from = await now();
    const crons = ['* * * * *', '*/2 * * * *', '1-59/3 * * * *', '*/5 * * * *'];
    const due = (cron: string): Date => {
      const parsed = parseCron(cron);
      return (parsed.kind === 'valid' && parsed.cron.next(from)) || from;
    };
    const schedules = await new ScheduleBuilder(database).buildMany(24, (index) => {
      const cron = crons[index % crons.length] ?? '* * * * *';
      return { teamUid, cron, dueAt: due(cron) };
    });
    const { uid: automation } = await new AutomationBuilder(database).build({
      factoryUid,
      teamUid,
      triggers: [
        {
          subject: '*/2 * * * * UTC',
          trigger: { provider: 'schedule', event: 'cron_fired', ...{ schedule: { cron: '*/2 * * * *' } } },
        },
      ],
    });
    await database.query(`INSERT INTO headrace.timers VALUES ('automation', $1, '*/2 * * * *', 'UTC', 0, $2, $2)`, [
      `${factoryUid}/*/2 * * * * UTC`,
      due('*/2 * * * *'),
    ]);
    isOver = false;
    clockLimit = (async () => {
      for (; !isOver; await tick(250)) await limitHeartbeatAge();
    })();
    const schedulers = [0, 1, 2].map(() => start({ TIMER_CLOCKWORK: 'yes' }));
    await Promise.all(schedulers.map(begun));
    for (let kills = 0; kills < KILLS;) {
      for (let step = 0; step < 3; step += 1) {
        await database.advanceClock(STEP_MS);
        if (Math.random() < 0.5 && kills < KILLS) {
          kills += 1;
          const place = Math.floor(Math.random() * schedulers.length);
          await new Promise((resolve) => setTimeout(resolve, Math.random() * 100));
          const victim = schedulers[place];
          const gone = victim && new Promise((resolve) => victim.once('exit', resolve));
          victim?.kill('SIGKILL');
          await gone;
          const successor = start({ TIMER_CLOCKWORK: 'yes' });
          schedulers[place] = successor;
          // Sometimes all three are down at once.
          if (Math.random() < 0.7) await begun(successor);
        }
        // The processes poll a few times a second. Without this wait the clock would advance faster than they fire.
        await until(hasPolled, 60_000, 'the next poll of the timers');
        await until(isSettled, 60_000, 'the firing of the last due timer');
      }
    }
    const to = await now();
    await until(isSettled, 60_000, 'the firing of the last due timer');
    const outages = await database.query<{ from_at: Date; until_at: Date }>('SELECT * FROM headrace.timer_outages');
    expect(outages).toEqual([]);
    for (const [index, uid] of schedules.entries()) {
      const expected = dueTimes(crons[index % crons.length] ?? '', from, to);
      expect((await firingsOf(uid)).slice(0, expected.length)).toEqual(expected.map((at) => `${at} started`));
      expect(await runsOf(uid)).toBe((await firingsOf(uid)).length);
    }
    const started = await database.query<{ due: string }>(
      `SELECT metadata->>'due_at' AS due FROM headrace.runs WHERE metadata->>'automation_id' = $1 ORDER BY 1`,
      [automation],
    );
    const expected = dueTimes('*/2 * * * *', from, to);
    expect(started.map(({ due: at }) => at).slice(0, expected.length)).toEqual(expected);
    expect(new Set(started.map(({ due: at }) => at)).size).toBe(started.length);
  });

  function dueTimes(expression: string, from: Date, to: Date): string[] {
    const parsed = parseCron(expression);
    const times: string[] = [];
    if (parsed.kind === 'invalid') throw new Error(parsed.detail);
    for (let at = parsed.cron.next(from); at !== null && at <= to; at = parsed.cron.next(at))
      times.push(at.toISOString());
    return times;
  }
});
