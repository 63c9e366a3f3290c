import { setTimeout } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type ResolvedSkill, SkillDirectory } from '#domain/agents';
import { newUid } from '#platform/kernel';
import { CreateRun } from '#domain/runs';
import { ScheduleFiringsStore, SchedulesJobsModule } from '#domain/schedules';
import { TimerDispatcher } from '#platform/timers';
import { offeredSkill, offerSkills, startTestApi, type TestApi, type TestPrincipal, TestRunner } from '#testing';
import { type FiringProcess, startFiring } from '../automations/firing-process.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

let api: TestApi;
let processor: FiringProcess;
let team: string;
let member: TestPrincipal;

beforeAll(async () => {
  api = await startTestApi();
  processor = await startFiring(api.settings, [SchedulesJobsModule]);
});
afterAll(async () => {
  await processor.close();
  await api.close();
});
beforeEach(async () => {
  team = await api.identities.team();
  member = await api.identities.user({ [team]: 'member' });
  await api.database.query('DELETE FROM headrace.timers');
  await processor.get(TimerDispatcher).recordHeartbeat();
  // No minute ends between the creation of a schedule and the move to its due time.
  if ((await now()).getTime() % MINUTE > MINUTE / 2) await toNextMinute();
  await api.database.query('DELETE FROM headrace.timer_outages');
});
afterEach(() => {
  vi.restoreAllMocks();
});

const fireAll = async (): Promise<void> => {
  while ((await processor.get(TimerDispatcher).dispatchDue()) > 0);
};
const now = async (): Promise<Date> => {
  const [row] = await api.database.query<{ now: Date }>('SELECT headrace.now() AS now');
  return row?.now ?? new Date(0);
};
/** Moves the clock to `seconds` after the next full minute, with processes that look for due timers all the time. */
const toNextMinute = async (seconds = 1): Promise<void> => {
  const left = MINUTE - ((await now()).getTime() % MINUTE) + seconds * 1000;
  for (let moved = 0; moved < left; moved += 20_000) {
    await api.advanceClock(Math.min(20_000, left - moved));
    await processor.get(TimerDispatcher).recordHeartbeat();
  }
};
const create = async (shape: object = {}) =>
  (
    await api.request(201, 'POST /agent/schedules', {
      token: member.token,
      body: { name: 'each minute', cron_schedule: '* * * * *', prompt: 'Look.', enabled: true, ...shape },
    })
  ).body;
const read = async (id: string) => (await api.request(200, `GET /agent/schedules/${id}`, { token: member.token })).body;
const runsOf = async (id: string) =>
  (await api.request(200, `GET /agent/runs?schedule_id=${id}&limit=500`, { token: member.token })).body.runs;
const firingsOf = (id: string) =>
  api.database.query<{ outcome: string; detail: string | null; due_at: Date; missed_through: Date | null }>(
    'SELECT outcome, detail, due_at, missed_through FROM headrace.schedule_firings WHERE schedule_uid = $1 ORDER BY due_at',
    [id],
  );

describe('firing a due schedule', () => {
  it('starts a run with the schedule as it was, and waits for the next due time', async () => {
    const schedule = await create({
      name: 'nightly',
      metadata: { kind: 'nightly' },
      agent_config: { model_id: 'auto' },
    });
    expect(schedule.history.last_ran).toBeNull();
    await toNextMinute();
    await fireAll();
    await api.request(200, `PUT /agent/schedules/${schedule.id}`, {
      token: member.token,
      body: { name: 'renamed', cron_schedule: '0 0 * * *', prompt: 'Other.', enabled: true },
    });
    const [run, ...others] = await runsOf(schedule.id);
    expect(others).toEqual([]);
    expect(run).toMatchObject({
      title: 'nightly',
      state: 'QUEUED',
      source: 'SCHEDULED_AGENT',
      schedule: { schedule_id: schedule.id, schedule_name: 'nightly', cron_schedule: '* * * * *' },
      trigger_url: `${api.settings.publicUrl}/api/v1/agent/schedules/${schedule.id}`,
      metadata: { kind: 'nightly' },
      creator: { type: 'user', uid: member.uid },
      scope: { type: 'Team', uid: team },
      agent_config: { model_id: 'auto' },
    });
    expect(await read(schedule.id)).toMatchObject({ last_spawn_error: null, history: { last_ran: null } });
    const runner = await TestRunner.take(api, run.run_id);
    await runner.startAgent();
    await runner.report(
      ['turn_started', { turn_id: 't', prompt: 'Look.' }],
      ['turn_ended', { turn_id: 't', stop_reason: 'end_turn' }],
    );
    const { history } = await read(schedule.id);
    expect(Date.parse(history.last_ran)).toBeGreaterThan(Date.parse(schedule.history.next_run));
    expect((await firingsOf(schedule.id)).map(({ outcome }) => outcome)).toEqual(['started']);
  });

  it('does not fire again before the next due time', async () => {
    const { id } = await create();
    await toNextMinute();
    await fireAll();
    await fireAll();
    expect(await runsOf(id)).toHaveLength(1);
    await toNextMinute();
    await fireAll();
    expect(await runsOf(id)).toHaveLength(2);
  });

  it('starts no second run when the clock is set back', async () => {
    const { id } = await create();
    await toNextMinute();
    await fireAll();
    await api.advanceClock(-5 * MINUTE);
    await fireAll();
    expect(await runsOf(id)).toHaveLength(1);
    await api.advanceClock(5 * MINUTE);
    await fireAll();
    expect(await runsOf(id)).toHaveLength(1);
    await toNextMinute();
    await fireAll();
    expect(await runsOf(id)).toHaveLength(2);
  });

  it('starts personal runs for a personal schedule', async () => {
    const { id } = await create({ team: false });
    await toNextMinute();
    await fireAll();
    expect(await runsOf(id)).toMatchObject([{ scope: { type: 'User', uid: member.uid } }]);
  });

  it('lets a personal schedule use an environment of the team while its user is a member, but not a viewer', async () => {
    const team = await api.identities.team();
    const author = await api.identities.user({ [team]: 'admin' });
    const { uid } = (await api.request(201, 'POST /environments', { token: author.token, body: { config: {} } })).body;
    const { id } = (
      await api.request(201, 'POST /agent/schedules', {
        token: author.token,
        body: {
          name: 'own',
          cron_schedule: '* * * * *',
          prompt: 'Look.',
          enabled: true,
          team: false,
          agent_config: { environment_id: uid },
        },
      })
    ).body;
    await toNextMinute();
    await fireAll();
    expect((await firingsOf(id)).map(({ outcome }) => outcome)).toEqual(['started']);
    const home = await api.identities.team();
    await api.database.query(`INSERT INTO memberships (team_uid, user_uid, role) VALUES ($1, $2, 'member')`, [
      home,
      author.uid,
    ]);
    await api.database.query(`UPDATE memberships SET role = 'viewer' WHERE user_uid = $1 AND team_uid = $2`, [
      author.uid,
      team,
    ]);
    await toNextMinute();
    await fireAll();
    expect((await firingsOf(id)).map(({ outcome }) => outcome)).toEqual(['started', 'refused']);
  });

  it('fires after the jitter of its due time', async () => {
    const { id } = await create({ jitter_seconds: 3000, cron_schedule: '0 * * * *' });
    const [timer] = await api.database.query<{ due_at: Date; fire_at: Date }>(
      'SELECT due_at, fire_at FROM headrace.timers WHERE key = $1',
      [id],
    );
    const [dueAt, fireAt] = [timer?.due_at.getTime() ?? 0, timer?.fire_at.getTime() ?? 0];
    expect(fireAt - dueAt).toBeGreaterThanOrEqual(0);
    expect(fireAt - dueAt).toBeLessThan(3_000_000);
    await api.advanceClock(fireAt - (await now()).getTime() - 5000);
    await fireAll();
    expect(await runsOf(id)).toHaveLength(0);
    await api.advanceClock(6000);
    await fireAll();
    expect(await runsOf(id)).toHaveLength(1);
    expect((await firingsOf(id)).map(({ due_at: due }) => due.getTime())).toEqual([dueAt]);
  });
});

describe('changing a schedule', () => {
  it.each(['pause', 'delete'] as const)('starts no run after the commit of %s', async (change) => {
    const { id } = await create();
    const line = change === 'pause' ? `POST /agent/schedules/${id}/pause` : `DELETE /agent/schedules/${id}`;
    await toNextMinute();
    await api.request(200, line, { token: member.token });
    await fireAll();
    expect(await runsOf(id)).toEqual([]);
  });

  it('waits for a firing under way', async () => {
    const { id } = await create();
    await toNextMinute();
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    let begun = (): void => undefined;
    const launching = new Promise<void>((resolve) => (begun = resolve));
    const createRun = processor.get(CreateRun);
    const original = createRun.execute.bind(createRun);
    vi.spyOn(createRun, 'execute').mockImplementation(async (...given) => {
      begun();
      await held;
      return original(...given);
    });
    const firing = fireAll();
    await launching;
    let answered = false;
    const pausing = api.request(200, `POST /agent/schedules/${id}/pause`, { token: member.token }).then((answer) => {
      answered = true;
      return answer;
    });
    // Long enough for an answer that does not wait.
    await api.request(200, `GET /agent/schedules/${id}`, { token: member.token });
    expect(answered).toBe(false);
    release();
    await firing;
    expect((await pausing).body).toMatchObject({ enabled: false, history: { next_run: null } });
    await toNextMinute();
    await fireAll();
    expect(await runsOf(id)).toHaveLength(1);
  });

  it('starts no run on resume for due times of the pause', async () => {
    const { id } = await create();
    await api.request(200, `POST /agent/schedules/${id}/pause`, { token: member.token });
    await toNextMinute();
    await toNextMinute();
    await api.request(200, `POST /agent/schedules/${id}/resume`, { token: member.token });
    await fireAll();
    expect(await runsOf(id)).toEqual([]);
    await toNextMinute();
    await fireAll();
    expect(await runsOf(id)).toHaveLength(1);
  });

  it('keeps a due time that has passed when the expression does not change', async () => {
    const { id } = await create();
    await toNextMinute();
    const body = { name: 'renamed', cron_schedule: '* * * * *', prompt: 'Other.', enabled: true };
    await api.request(200, `PUT /agent/schedules/${id}`, { token: member.token, body });
    await fireAll();
    expect(await runsOf(id)).toMatchObject([{ title: 'renamed' }]);
  });
});

describe('reducing the jitter', () => {
  it('applies to a due time that already waits for its jitter', async () => {
    let id = '';
    // The part of a schedule follows from its random id: of one in 60 it begins at once.
    for (let attempt = 0; attempt < 5; attempt += 1) {
      ({ id } = await create({ jitter_seconds: 3600 }));
      await toNextMinute();
      await fireAll();
      if ((await runsOf(id)).length === 0) break;
    }
    expect(await runsOf(id)).toEqual([]);
    const body = { name: 'each minute', cron_schedule: '* * * * *', prompt: 'Look.', enabled: true };
    await api.request(200, `PUT /agent/schedules/${id}`, { token: member.token, body });
    await fireAll();
    expect(await runsOf(id)).toHaveLength(1);
    expect((await firingsOf(id)).map(({ outcome }) => outcome)).toEqual(['started']);
  });
});

describe('due times within an outage', () => {
  it('start one run for the latest, and record the others as missed', async () => {
    const { id, history } = await create();
    await fireAll();
    await api.advanceClock(10 * MINUTE);
    const at = await now();
    await fireAll();
    const firings = await firingsOf(id);
    expect(firings.map(({ outcome }) => outcome)).toEqual(['missed', 'started']);
    expect(firings[0]?.due_at).toEqual(new Date(history.next_run));
    expect((firings[1]?.due_at.getTime() ?? 0) - (firings[0]?.missed_through?.getTime() ?? 0)).toBe(MINUTE);
    expect(firings[1]?.due_at.getTime()).toBe(Math.floor(at.getTime() / MINUTE) * MINUTE);
    expect(await runsOf(id)).toHaveLength(1);
    await toNextMinute();
    await fireAll();
    expect(await runsOf(id)).toHaveLength(2);
  });

  it('start no run when they are older than SCHEDULE_CATCH_UP_WINDOW', async () => {
    const { id } = await create({ cron_schedule: '0 12 * * *' });
    const { history } = await read(id);
    await fireAll();
    await api.advanceClock(Date.parse(history.next_run) - (await now()).getTime() + 3 * HOUR);
    await fireAll();
    expect(await firingsOf(id)).toMatchObject([{ outcome: 'missed', due_at: new Date(history.next_run) }]);
    expect(await runsOf(id)).toEqual([]);
    const after = await read(id);
    expect(Date.parse(after.history.next_run)).toBeGreaterThan((await now()).getTime());
  });

  it('all start runs when processes are late without an outage', async () => {
    const { id } = await create();
    for (let minute = 0; minute < 4; minute += 1) await toNextMinute();
    await fireAll();
    expect((await firingsOf(id)).map(({ outcome }) => outcome)).toEqual(['started', 'started', 'started', 'started']);
    expect(await runsOf(id)).toHaveLength(4);
  });
});

describe('a firing that starts no run', () => {
  it('is recorded as skipped with overlap policy skip while the previous run is not finished', async () => {
    const { id } = await create({ overlap_policy: 'skip' });
    const { id: allowing } = await create();
    await toNextMinute();
    await fireAll();
    await toNextMinute();
    await fireAll();
    const [first, ...others] = await runsOf(id);
    expect(others).toEqual([]);
    expect(await runsOf(allowing)).toHaveLength(2);
    expect((await read(id)).last_spawn_error).toContain(first.run_id);
    expect((await read(id)).enabled).toBe(true);
    await api.request(200, `POST /agent/runs/${first.run_id}/cancel`, { token: member.token });
    await toNextMinute();
    await fireAll();
    expect(await runsOf(id)).toHaveLength(2);
    expect((await read(id)).last_spawn_error).toBeNull();
  });

  it('has a reason when the run is rejected, and five in a row pause the schedule', async () => {
    const environment = (
      await api.request(201, 'POST /environments', {
        token: (await api.identities.user({ [team]: 'admin' })).token,
        body: { config: { name: 'short-lived' } },
      })
    ).body;
    const { id } = await create({ agent_config: { environment_id: environment.uid } });
    await api.database.query('DELETE FROM headrace.environments WHERE uid = $1', [environment.uid]);
    for (let failures = 1; failures <= 5; failures += 1) {
      await toNextMinute();
      await fireAll();
      const item = await read(id);
      expect(item.last_spawn_error).toContain('environment_id');
      expect(item.enabled).toBe(failures < 5);
    }
    const paused = await read(id);
    expect(paused.paused_reason).toMatch(/^Paused after 5 due times in a row .*environment_id/);
    expect(paused.history).toMatchObject({ last_ran: null, next_run: null });
    await toNextMinute();
    await fireAll();
    expect(await firingsOf(id)).toHaveLength(5);
    const resumed = (await api.request(200, `POST /agent/schedules/${id}/resume`, { token: member.token })).body;
    expect(resumed).toMatchObject({ enabled: true, paused_reason: null });
    await toNextMinute();
    await fireAll();
    expect((await read(id)).enabled).toBe(true);
  });

  it('is recorded as skipped and pauses nothing when schedules are disabled for the team', async () => {
    const { id } = await create();
    await api.database.query('UPDATE headrace.teams SET schedules = false WHERE uid = $1', [team]);
    await toNextMinute();
    await fireAll();
    expect(await firingsOf(id)).toMatchObject([{ outcome: 'skipped', detail: 'Schedules are disabled for the team.' }]);
    await api.database.query('UPDATE headrace.teams SET schedules = true WHERE uid = $1', [team]);
  });

  it('is retried once after a delay when a fault of the service caused it', async () => {
    const [{ id }, { id: other }] = [await create({ name: 'broken' }), await create()];
    await toNextMinute();
    const createRun = processor.get(CreateRun);
    const original = createRun.execute.bind(createRun);
    const spied = vi.spyOn(createRun, 'execute').mockImplementation(async (caller, command) => {
      if (command.title === 'broken') throw new Error('out of order');
      return original(caller, command);
    });
    await fireAll();
    expect(await runsOf(id)).toEqual([]);
    expect(await runsOf(other)).toHaveLength(1);
    spied.mockRestore();
    api.log.clear();
    await api.advanceClock(11_000);
    await fireAll();
    expect(await runsOf(id)).toHaveLength(1);
    expect(await runsOf(other)).toHaveLength(1);
  });
});

describe('a skill whose repository does not respond', () => {
  it('delays the run until it responds, and the schedule shows the reason', async () => {
    const { id } = await create({ agent_config: { skill_spec: 'acme/app:tidy' } });
    const away: ResolvedSkill = { kind: 'unreadable', detail: 'cannot be reached', retryable: true };
    const skills: Record<string, ResolvedSkill> = { 'acme/app:tidy': away };
    offerSkills(processor, skills);
    await toNextMinute();
    await fireAll();
    expect(await read(id)).toMatchObject({
      enabled: true,
      last_spawn_error: expect.stringContaining('cannot be reached'),
    });
    skills['acme/app:tidy'] = { kind: 'found', skill: offeredSkill('acme/app:tidy') };
    await api.advanceClock(11_000);
    await fireAll();
    expect(await runsOf(id)).toMatchObject([{ agent_skill: { name: 'tidy' } }]);
    expect((await read(id)).last_spawn_error).toBeNull();
    expect((await firingsOf(id)).map(({ outcome }) => outcome)).toEqual(['started']);
  });
});

describe('skills whose repositories respond slowly', () => {
  const SLOW = 'acme/app:slow';
  const slow = async (): Promise<string> => {
    const factory = newUid();
    await api.database.query('INSERT INTO headrace.factories (uid, team_uid, name) VALUES ($1, $2, $1)', [
      factory,
      team,
    ]);
    const { token } = await api.identities.user({ [team]: 'admin' });
    const trigger = { provider: 'schedule', event: 'cron_fired', schedule: { cron: '* * * * *' } };
    const body = {
      name: 'slow',
      enabled: true,
      prompt: 'Tidy up.',
      agent_config: { skill_spec: SLOW },
      triggers: [trigger],
    };
    return (await api.request(201, `POST /factories/${factory}/automations`, { token, body })).body.uid;
  };

  it('do not delay other timers for long, and are retried', async () => {
    const uids = [await slow(), await slow(), await slow(), await slow(), await slow()];
    const { id } = await create();
    const { id: other } = await create({ agent_config: { skill_spec: SLOW } });
    offerSkills(processor, {});
    const directory = processor.get(SkillDirectory);
    const answer = directory.resolve.bind(directory);
    const asked: (number | undefined)[] = [];
    directory.resolve = async (...given) => {
      const [, , spec, search] = given;
      if (spec !== SLOW) return answer(...given);
      asked.push(search?.waitMs);
      await setTimeout(search?.waitMs);
      return { kind: 'unreadable', detail: 'It is still being read.', retryable: true };
    };
    await toNextMinute();
    const began = performance.now();
    await fireAll();
    expect(performance.now() - began).toBeLessThan(30_000);
    expect(await runsOf(id)).toHaveLength(1);
    expect(await runsOf(other)).toEqual([]);
    // Some of the five have not been begun: their lap had taken long enough.
    expect(asked.length).toBeLessThan(uids.length + 1);
    expect(new Set(asked)).toEqual(new Set([2000]));
    offerSkills(processor, {});
    api.log.clear();
    await api.advanceClock(11_000);
    await processor.get(TimerDispatcher).recordHeartbeat();
    await fireAll();
    expect(await runsOf(other)).toHaveLength(1);
    for (const uid of uids)
      expect(
        (await api.request(200, `GET /agent/runs?automation_id=${uid}`, { token: member.token })).body.runs,
      ).toHaveLength(1);
  }, 60_000);
});

describe('a timer with a time zone that this process does not know', () => {
  it('does not delay other timers, and waits for a process that knows the zone', async () => {
    const [{ id }, { id: other }] = [await create(), await create()];
    await api.database.query(`UPDATE headrace.schedules SET timezone = 'Mars/Base' WHERE uid = $1`, [id]);
    await api.database.query(`UPDATE headrace.timers SET timezone = 'Mars/Base' WHERE key = $1`, [id]);
    await toNextMinute();
    await fireAll();
    expect(await runsOf(other)).toHaveLength(1);
    expect(await runsOf(id)).toEqual([]);
    const { history } = await read(id);
    expect(history.upcoming).toEqual([history.next_run]);
    api.log.clear();
    await api.database.query(`UPDATE headrace.timers SET timezone = 'UTC' WHERE key = $1`, [id]);
    // It is looked at again a minute after it was found unreadable, which was after the minute had begun.
    await toNextMinute();
    await toNextMinute();
    await fireAll();
    expect((await firingsOf(id)).map(({ outcome }) => outcome)[0]).toBe('started');
  });
});

describe('starting a run of a schedule through the API', () => {
  it('ignores the overlap policy, which compares only runs of due times', async () => {
    const { id } = await create({ overlap_policy: 'skip' });
    const runNow = async (): Promise<string> =>
      (await api.request(200, `POST /agent/schedules/${id}/run`, { token: member.token })).body.run_id;
    await runNow();
    await toNextMinute();
    await fireAll();
    expect(await runsOf(id)).toHaveLength(2);
    await api.request(200, `POST /agent/runs/${await runNow()}/cancel`, { token: member.token });
    await toNextMinute();
    await fireAll();
    expect((await firingsOf(id)).map(({ outcome }) => outcome)).toEqual(['started', 'skipped']);
    expect(await runsOf(id)).toHaveLength(3);
  });

  it('starts a run of a paused schedule, with the caller as its creator', async () => {
    const { id } = await create({ enabled: false });
    const other = await api.identities.user({ [team]: 'member' });
    const answer = await api.request(200, `POST /agent/schedules/${id}/run`, { token: other.token });
    expect(await runsOf(id)).toMatchObject([
      {
        run_id: answer.body.run_id,
        source: 'SCHEDULED_AGENT',
        creator: { uid: other.uid },
        schedule: { schedule_id: id },
      },
    ]);
    expect((await read(id)).history).toMatchObject({ last_ran: null, next_run: null });
  });
});

describe('an automation with a schedule trigger', () => {
  let factory: string;
  let admin: TestPrincipal;
  beforeEach(async () => {
    admin = await api.identities.user({ [team]: 'admin' });
    factory = newUid();
    await api.database.query('INSERT INTO headrace.factories (uid, team_uid, name) VALUES ($1, $2, $3)', [
      factory,
      team,
      'works',
    ]);
  });

  const trigger = (schedule: object) => ({ provider: 'schedule', event: 'cron_fired', schedule });
  const automate = async (status: number, shape: object) =>
    (
      await api.request(status, `POST /factories/${factory}/automations`, {
        token: admin.token,
        body: { name: 'tidy', enabled: true, prompt: 'Tidy up.', triggers: [trigger({ cron: '* * * * *' })], ...shape },
      })
    ).body;
  const startedBy = async (uid: string) =>
    (await api.request(200, `GET /agent/runs?automation_id=${uid}`, { token: admin.token })).body.runs;

  it('starts one run for each due time of the expression only', async () => {
    const { uid } = await automate(201, {
      triggers: [
        trigger({ cron: '* * * * *', name: 'often' }),
        trigger({ cron: '0 0 1 1 *', timezone: 'Europe/Berlin' }),
      ],
    });
    const { uid: off } = await automate(201, { enabled: false });
    await toNextMinute();
    await fireAll();
    await fireAll();
    const runs = await startedBy(uid);
    expect(runs).toMatchObject([
      { title: 'tidy', source: 'SCHEDULED_AGENT', metadata: { automation_id: uid, factory_uid: factory } },
    ]);
    expect(runs[0].metadata.due_at).toMatch(/:00\.000Z$/);
    expect(await startedBy(off)).toEqual([]);
    await toNextMinute();
    await fireAll();
    expect(await startedBy(uid)).toHaveLength(2);
  });

  it('loses its timer when no trigger uses the expression', async () => {
    const { uid } = await automate(201, {});
    await api.request(204, `DELETE /factories/${factory}/automations/${uid}`, { token: admin.token });
    await toNextMinute();
    await fireAll();
    expect(await api.database.query(`SELECT 1 FROM headrace.timers WHERE kind = 'automation'`)).toEqual([]);
  });

  it.each([
    [{ cron: '@daily' }, '/triggers/0/schedule/cron'],
    [{ cron: '0 0 30 2 *' }, '/triggers/0/schedule/cron'],
    [{ cron: 5 }, '/triggers/0/schedule/cron'],
    [{ cron: '* * * * *', timezone: '+02:00' }, '/triggers/0/schedule/timezone'],
    [{ cron: '* * * * *', every: 1 }, '/triggers/0/schedule/every'],
    [{ cron: '* * * * *', name: '' }, '/triggers/0/schedule/name'],
  ])('refuses %j and names the field', async (schedule, pointer) => {
    const problem = await automate(400, { triggers: [trigger(schedule)] });
    expect(problem.errors.map((issue: { pointer: string }) => issue.pointer)).toEqual([pointer]);
  });

  it('can be tested', async () => {
    const { uid } = await automate(201, {});
    const answer = await api.request(200, `POST /factories/${factory}/automations/${uid}/triggers/0/test`, {
      token: admin.token,
      body: { payload: null },
    });
    expect(answer.body).toMatchObject({ would_trigger: true, checks: [{ check: 'enabled' }, { check: 'schedule' }] });
  });
});

it('deletes firings after 30 days', async () => {
  const { id } = await create();
  await toNextMinute();
  await fireAll();
  const prune = processor.get(ScheduleFiringsStore);
  await prune.prune();
  expect(await firingsOf(id)).toHaveLength(1);
  await api.database.query(
    `UPDATE headrace.schedule_firings SET fired_at = fired_at - interval '31 days' WHERE schedule_uid = $1`,
    [id],
  );
  await prune.prune();
  expect(await firingsOf(id)).toEqual([]);
});
