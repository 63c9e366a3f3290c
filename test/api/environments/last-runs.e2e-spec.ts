import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type LastRun, LastRuns, LastRunSource } from '#domain/environments';
import { RunBuilder, startTestApi, type TestApi, type TestPrincipal, TestRunner } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import { statementsDuring } from '../../support/api-requests.js';
import { EnvironmentSharing } from './environment-sharing.js';

let api: TestApi;
let fixture: ApiFixture;
let sharing: EnvironmentSharing;
let member: TestPrincipal;
beforeAll(async () => {
  api = await startTestApi({ settings: { runListTimeout: 700 } });
  fixture = await ApiFixture.over(api);
  sharing = await EnvironmentSharing.prepare(fixture);
  ({ member } = sharing.people);
});
afterAll(() => api.close());

async function createRun(by: TestPrincipal, environment: string, team: boolean, title: string): Promise<string> {
  const body = { prompt: 'Go.', title, team, config: { environment_id: environment } };
  await api.advanceClock(10);
  return (await api.request(200, 'POST /agent/runs', { token: by.token, body })).body.run_id as string;
}

/** What somebody is shown of an environment, in the list and by itself. */
async function shown(by: TestPrincipal, uid: string) {
  const { body: one } = await api.request(200, `GET /environments/${uid}`, { token: by.token });
  const { body } = await api.request(200, 'GET /agent/environments', { token: by.token });
  expect(body.environments.find((item: { uid: string }) => item.uid === uid)).toEqual(one);
  return one;
}

describe('the last run in an environment', () => {
  it('is the run that was created last, with its current state', async () => {
    const uid = await sharing.createEnvironment('team');
    const fresh = await shown(member, uid);
    expect(fresh).not.toHaveProperty('last_task_run_timestamp');
    expect(fresh).not.toHaveProperty('last_task_created');
    await createRun(member, uid, true, 'First');
    const runId = await createRun(sharing.people.admin, uid, true, 'Second');
    await createRun(member, await sharing.createEnvironment('team'), true, 'Elsewhere');
    const { body: run } = await api.request(200, `GET /agent/runs/${runId}`, { token: member.token });
    const queued = await shown(member, uid);
    expect(queued.last_task_run_timestamp).toBe(run.created_at);
    expect(queued.last_task_created).toEqual({
      id: runId,
      title: 'Second',
      state: 'QUEUED',
      created_at: run.created_at,
      updated_at: run.updated_at,
    });
    await (await TestRunner.take(api, runId)).startAgent();
    const { body: started } = await api.request(200, `GET /agent/runs/${runId}`, { token: member.token });
    expect((await shown(member, uid)).last_task_created).toEqual({
      id: runId,
      title: 'Second',
      state: 'INPROGRESS',
      created_at: started.created_at,
      updated_at: started.updated_at,
      started_at: started.started_at,
    });
  });

  it('does not change when the environment was updated', async () => {
    const uid = await sharing.createEnvironment('team');
    const before = await shown(member, uid);
    await createRun(member, uid, true, 'One');
    expect((await shown(member, uid)).last_updated).toBe(before.last_updated);
  });

  it('is a run that the caller may read: guests see their own runs, and the owner does not', async () => {
    const { owner, guest, guestTeam, guestViewer, holder } = sharing.people;
    const uid = await sharing.createEnvironment('personal');
    await sharing.grant(uid, { user_uid: guest.uid });
    await sharing.grant(uid, { team_uid: sharing.guestTeam });
    await sharing.grant(uid, { user_uid: holder.uid });
    const owners = await createRun(owner, uid, false, 'Of the owner');
    const guests = await createRun(guest, uid, false, 'Of the guest');
    const teams = await createRun(guestTeam, uid, true, 'Of the team');
    const seen = async (by: TestPrincipal) => (await shown(by, uid)).last_task_created?.id;
    expect(await seen(owner)).toBe(owners);
    expect(await seen(guest)).toBe(guests);
    expect(await seen(guestTeam)).toBe(teams);
    expect(await seen(guestViewer)).toBe(teams);
    const nothing = await shown(holder, uid);
    expect(nothing).not.toHaveProperty('last_task_run_timestamp');
    expect(nothing).not.toHaveProperty('last_task_created');
  });

  it('takes two round trips for any number of environments and runs', async () => {
    for (let count = 0; count < 5; count += 1)
      await createRun(member, await sharing.createEnvironment('team'), true, 'One more');
    const asked = await statementsDuring(api, () =>
      api.request(200, 'GET /agent/environments', { token: member.token }),
    );
    const aboutRuns = asked.filter((text) => /\bruns\b|READ ONLY/.test(text));
    expect(aboutRuns).toHaveLength(2);
    expect(asked.length).toBeLessThanOrEqual(5);
  });

  it('is found behind thousands of later runs in other environments, with its correct time', async () => {
    const team = await api.identities.team('Busy');
    const busy = await api.identities.user({ [team]: 'admin' });
    const runs = new RunBuilder(api.database);
    const make = async (name: string): Promise<string> =>
      (await api.request(201, 'POST /environments', { token: busy.token, body: { config: { name } } })).body.uid;
    const [old, mixed, current, unused] = [await make('old'), await make('mixed'), await make('now'), await make('un')];
    const [now] = await api.database.query<{ now: Date }>('SELECT headrace.now() AS now');
    const at = (minutesAgo: number): Date => new Date((now?.now.getTime() ?? 0) - minutesAgo * 60_000);
    const build = async (environment: string, minutesAgo: number, own = false): Promise<string> => {
      const config = { environment_id: environment };
      const createdAt = at(minutesAgo);
      return (await runs.build({ by: busy, ...(own ? {} : { team }), config, createdAt })).id;
    };
    await build(old, 500);
    const last = await build(old, 400);
    await build(mixed, 390);
    const ofTeam = await build(mixed, 300);
    await build(mixed, 350, true);
    const template = await build(current, 200);
    await fill(template, 2100);
    const { body } = await api.request(200, 'GET /agent/environments', { token: busy.token });
    const found = new Map(
      body.environments.map((item: { uid: string; last_task_created?: { id: string } }) => [
        item.uid,
        item.last_task_created?.id,
      ]),
    );
    expect(found.get(old)).toBe(last);
    expect(found.get(mixed)).toBe(ofTeam);
    expect(found.get(unused)).toBeUndefined();
    const [newest] = await api.database.query<{ id: string }>(
      'SELECT id FROM runs WHERE environment_id = $1 ORDER BY created_at DESC, id DESC LIMIT 1',
      [current],
    );
    expect(found.get(current)).toBe(newest?.id);
  });

  it('is omitted when the query exceeds its timeout', async () => {
    const uid = await sharing.createEnvironment('team');
    await createRun(member, uid, true, 'Out of reach');
    const blocked = await whileLocked(() => shown(member, uid));
    expect(blocked).not.toHaveProperty('last_task_created');
    expect((await shown(member, uid)).last_task_created.title).toBe('Out of reach');
    expect(api.log.errors).toEqual([]);
  });

  it('has one source only', () => {
    class Another extends LastRunSource {
      override find(): Promise<ReadonlyMap<string, LastRun>> {
        return Promise.resolve(new Map<string, LastRun>());
      }
    }
    expect(() => api.app.get(LastRuns).register(new Another())).toThrow('already');
  });
});

/** Copies of a run, each created a millisecond after the one before. */
async function fill(template: string, count: number): Promise<void> {
  const columns = await api.database.query<{ name: string }>(
    `SELECT column_name AS name FROM information_schema.columns
      WHERE table_schema = 'headrace' AND table_name = 'runs' AND is_generated = 'NEVER'`,
  );
  const names = columns.map(({ name }) => name);
  const values = names.map((name) =>
    name === 'id'
      ? 'gen_random_uuid()'
      : name === 'created_at' || name === 'updated_at'
        ? `r.${name} + n * interval '1 millisecond'`
        : `r.${name}`,
  );
  await api.database.query(
    `INSERT INTO runs (${names.join(', ')}) SELECT ${values.join(', ')} FROM runs r, generate_series(1, ${count}) n WHERE r.id = $1`,
    [template],
  );
}

/** While nobody can read runs. */
async function whileLocked<T>(work: () => Promise<T>): Promise<T> {
  const blocker = new pg.Client({ connectionString: api.database.url });
  await blocker.connect();
  try {
    await blocker.query('BEGIN; LOCK TABLE headrace.runs IN ACCESS EXCLUSIVE MODE');
    return await work();
  } finally {
    await blocker.end();
  }
}
