import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { TeamsService } from '#platform/auth';
import { newUuid } from '#platform/kernel';
import type { TestPrincipal } from '#testing';
import { PlacementStore } from '../../../libs/execution/executions/src/persistence/placement.store.js';
import { ApiFixture } from '../../support/api-fixture.js';

const LIMIT = 6;

let fixture: ApiFixture;
let placement: PlacementStore;

beforeAll(async () => {
  fixture = await ApiFixture.start({ settings: { maxConcurrentRuns: 100, maxConcurrentRunsPerTeam: LIMIT } });
  placement = fixture.api.app.get(PlacementStore);
});
afterAll(() => fixture.close());
beforeEach(async () => {
  await fixture.database.query('TRUNCATE runs, executions, slot_pools CASCADE');
  await placement.setCapacity();
});

/** A team with its own caller. */
async function team(): Promise<{ uid: string; bot: TestPrincipal }> {
  const uid = await fixture.api.identities.team();
  return { uid, bot: await fixture.api.identities.serviceAccount(uid) };
}

/** Queued runs, the first the oldest. `age`: minutes since the first was queued. */
async function queue(count: number, owner: { by: TestPrincipal; team?: string }, age: number): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const at = new Date(Date.now() - age * 60_000 + index);
    ids.push((await fixture.runs.build({ ...owner, createdAt: at, columns: { queued_at: at } })).id);
  }
  return ids;
}

/** Frees slots without giving them to anybody. */
const setFreeSlots = (count: number) =>
  fixture.database.query(`UPDATE slot_pools SET capacity = used + $1 WHERE key = 'pool:hosted'`, [count]);
/** Ends an execution as its runner would. */
async function end(executionId: string): Promise<void> {
  await fixture.database.query('SELECT release_slot($1)', [executionId]);
  await fixture.database.query(`UPDATE executions SET phase = 'ended', ended_at = headrace.now() WHERE id = $1`, [
    executionId,
  ]);
}
const place = async () => (await placement.placeHosted('test')).map(({ runId }) => runId);
const get = async (runId: string, token: string) =>
  (await fixture.request(200, `GET /agent/runs/${runId}`, { token })).body;

describe('slots by turns between owners', () => {
  it('divides free slots among the owners that wait, however much older the queue of one of them is', async () => {
    const [first, second] = [await team(), await team()];
    const backlog = await queue(12, { by: first.bot, team: first.uid }, 60);
    const later = await queue(4, { by: second.bot, team: second.uid }, 10);
    const personal = await queue(4, { by: fixture.member }, 5);
    await setFreeSlots(6);
    expect((await place()).sort()).toEqual(
      [...backlog.slice(0, 2), ...later.slice(0, 2), ...personal.slice(0, 2)].sort(),
    );
  });

  it('gives every freed slot to the owner whose latest turn is the longest ago', async () => {
    const owners = [await team(), await team(), await team()];
    const queues = [];
    for (const [index, { bot, uid }] of owners.entries())
      queues.push(await queue(4, { by: bot, team: uid }, 60 - index));
    const order: number[] = [];
    for (let round = 0; round < 12; round += 1) {
      await setFreeSlots(1);
      const [offer] = await placement.placeHosted('test');
      order.push(queues.findIndex((ids) => ids.includes(offer?.runId ?? '')));
      await end(offer?.executionId ?? '');
    }
    expect([0, 3, 6, 9].map((from) => order.slice(from, from + 3).sort())).toEqual(Array(4).fill([0, 1, 2]));
  });

  it('gives an owner all slots up to its limit while nobody else waits', async () => {
    const { bot, uid } = await team();
    const ids = await queue(LIMIT + 2, { by: bot, team: uid }, 60);
    await setFreeSlots(50);
    expect((await place()).sort()).toEqual(ids.slice(0, LIMIT).sort());
  });

  it('placement runs of other owners when the only run of the next owner waits for its previous execution to stop', async () => {
    const [first, second] = [await team(), await team()];
    await fixture.runs.build({ by: first.bot, team: first.uid, state: 'QUEUED', session: 'stopping' });
    const ids = await queue(1, { by: second.bot, team: second.uid }, 1);
    await setFreeSlots(1);
    expect(await place()).toEqual(ids);
  });

  it('reaches every owner when more of them wait than one placement walks over', async () => {
    const owners = 450;
    await fixture.database.query(
      `INSERT INTO runs (id, owner_user_uid, slot_key, pool, state, title, prompt, source, execution_location, mode, interactive,
         creator_type, creator_uid, executor_type, executor_uid, config, queued_at, created_at, updated_at)
       SELECT gen_random_uuid(), 'u' || i, 'user:u' || lpad(i::text, 4, '0'), 'hosted', 'QUEUED', 't', 'p', 'API', 'REMOTE', 'normal', false,
         'user', 'u', 'user', 'u', '{}', headrace.now(), headrace.now(), headrace.now()
         FROM generate_series(1, $1::int) i, generate_series(1, 2)`,
      [owners],
    );
    const served = new Set<string>();
    for (let round = 0; served.size < owners && round < 60; round += 1) {
      await setFreeSlots(20);
      await placement.placeHosted('test');
      for (const { slot_key: owner } of await fixture.database.query<{ slot_key: string }>(
        'SELECT slot_key FROM executions',
      ))
        served.add(owner);
    }
    expect(served.size).toBe(owners);
  });

  it('lets sessions of other owners continue when the sessions that wait longest are of an owner at its limit', async () => {
    const [full, other] = [await team(), await team()];
    for (let index = 0; index < LIMIT; index += 1)
      await fixture.runs.build({ by: full.bot, team: full.uid, state: 'INPROGRESS' });
    const session = async (owner: typeof full) => {
      const shape = { by: owner.bot, team: owner.uid, state: 'SUCCEEDED', session: 'idle' } as const;
      const { id, executionId } = await fixture.runs.build(shape);
      await fixture.database.query(
        `INSERT INTO run_followups (id, run_id, message, outcome, author_type, author_uid, created_at)
         VALUES ($1, $2, 'Continue.', 'live_session', 'service_account', $3, headrace.now())`,
        [newUuid(), id, owner.bot.uid],
      );
      return executionId;
    };
    for (let index = 0; index < 21; index += 1) await session(full);
    const executionId = await session(other);
    await setFreeSlots(3);
    await place();
    const held = await fixture.database.query('SELECT slot_held FROM executions WHERE id = $1', [executionId]);
    expect(held).toEqual([{ slot_held: true }]);
  });
});

describe('the limit of a team', () => {
  it('overrides the installation’s, in both directions and from the next placement', async () => {
    const { bot, uid } = await team();
    await queue(20, { by: bot, team: uid }, 60);
    const teams = fixture.api.app.get(TeamsService);
    await teams.update(uid, { maxConcurrentRuns: 1 });
    await setFreeSlots(50);
    expect(await place()).toHaveLength(1);
    await teams.update(uid, { maxConcurrentRuns: 9 });
    expect(await place()).toHaveLength(8);
    await teams.update(uid, { maxConcurrentRuns: 2 });
    expect(await place()).toEqual([]);
    await fixture.database.query(`UPDATE executions SET slot_held = false, phase = 'ended', ended_at = headrace.now()`);
    await fixture.database.query('UPDATE slot_pools SET used = 0');
    await teams.update(uid, { maxConcurrentRuns: null });
    expect(await place()).toHaveLength(LIMIT);
  });

  it('also holds for the session that continues with a follow-up', async () => {
    const { bot, uid } = await team();
    await fixture.runs.build({ by: bot, team: uid, state: 'INPROGRESS' });
    const { id, executionId } = await fixture.runs.build({ by: bot, team: uid, state: 'SUCCEEDED', session: 'idle' });
    await fixture.request(200, `POST /agent/runs/${id}/followups`, {
      token: bot.token,
      body: { message: 'Continue.' },
    });
    await setFreeSlots(5);
    const isHeld = async () => {
      await place();
      const [row] = await fixture.database.query('SELECT slot_held FROM executions WHERE id = $1', [executionId]);
      return row?.slot_held;
    };
    await fixture.api.app.get(TeamsService).update(uid, { maxConcurrentRuns: 1 });
    expect(await isHeld()).toBe(false);
    await fixture.api.app.get(TeamsService).update(uid, { maxConcurrentRuns: 2 });
    expect(await isHeld()).toBe(true);
  });

  it('decides whether a new run is answered with at_capacity', async () => {
    const { bot, uid } = await team();
    await fixture.runs.build({ by: bot, team: uid, state: 'INPROGRESS' });
    const create = async () =>
      (await fixture.request(200, 'POST /agent/runs', { token: bot.token, body: { prompt: 'Go.' } })).body.at_capacity;
    expect(await create()).toBeUndefined();
    await fixture.api.app.get(TeamsService).update(uid, { maxConcurrentRuns: 1 });
    expect(await create()).toBe(true);
    await fixture.api.app.get(TeamsService).update(uid, { maxConcurrentRuns: null });
    expect(await create()).toBeUndefined();
  });
});

describe('status_message of a queued run', () => {
  const create = async (by: TestPrincipal, config: object = {}, fields: object = {}): Promise<string> =>
    (await fixture.request(200, 'POST /agent/runs', { token: by.token, body: { prompt: 'Go.', config, ...fields } }))
      .body.run_id;

  it('names the limit of the team, and of a person’s personal runs', async () => {
    const { bot, uid } = await team();
    await fixture.runs.build({ by: bot, team: uid, state: 'INPROGRESS' });
    const runId = await create(bot);
    expect(await get(runId, bot.token)).not.toHaveProperty('status_message');
    await fixture.api.app.get(TeamsService).update(uid, { maxConcurrentRuns: 1 });
    expect((await get(runId, bot.token)).status_message).toEqual({
      message: 'Waiting: The team has reached its limit of 1 concurrent run.',
    });
    const personal = await create(fixture.member, {}, { team: false });
    await fixture.runs.build({ by: fixture.member, state: 'INPROGRESS' });
    await fixture.database.query('UPDATE slot_pools SET capacity = 1 WHERE key = $1', [`user:${fixture.member.uid}`]);
    expect((await get(personal, fixture.member.token)).status_message).toEqual({
      message: 'Waiting: The limit of 1 concurrent run for personal runs of one user is reached.',
    });
  });

  it('says that all slots for hosted runs are in use', async () => {
    const { bot } = await team();
    const runId = await create(bot);
    await fixture.database.query(`UPDATE slot_pools SET capacity = 4, used = 4 WHERE key = 'pool:hosted'`);
    expect((await get(runId, bot.token)).status_message).toEqual({
      message: 'Waiting: All 4 slots for hosted runs are in use.',
    });
  });

  it('says that the previous execution is still stopping', async () => {
    const { bot, uid } = await team();
    const { id } = await fixture.runs.build({ by: bot, team: uid, state: 'QUEUED', session: 'stopping' });
    expect((await get(id, bot.token)).status_message).toEqual({
      message: 'Waiting: The previous execution of the run is still stopping.',
    });
  });

  it('says that no worker of that name is connected, that those that are accept none, or that the run is personal', async () => {
    const { bot, uid } = await team();
    const runId = await create(bot, { worker_host: 'build-1' });
    const message = async (id = runId, token = bot.token) => (await get(id, token)).status_message?.message;
    expect(await message()).toBe('Waiting: No worker named "build-1" is connected.');
    await fixture.database.query(
      `INSERT INTO worker_connections (id, team_uid, worker_host, instance, connected_at, last_seen_at, alive_until, slots, free_slots)
       VALUES ($1, $2, 'build-1', $3, headrace.now(), headrace.now(), headrace.now() + interval '1 hour', 1, 0)`,
      [newUuid(), uid, newUuid()],
    );
    expect(await message()).toBe('Waiting: The connected workers named "build-1" accept no more runs at the moment.');
    await fixture.database.query('UPDATE worker_connections SET free_slots = 1');
    expect(await message()).toBeUndefined();
    const personal = await create(fixture.member, { worker_host: 'build-1' }, { team: false });
    expect(await message(personal, fixture.member.token)).toBe(
      'Waiting: Self-hosted workers execute runs of teams only, and this run is personal.',
    );
  });

  it('keeps the stored message of a run that starts again after its worker was lost', async () => {
    const { bot, uid } = await team();
    const { id } = await fixture.runs.build({
      by: bot,
      team: uid,
      columns: { status_message: JSON.stringify({ message: 'The run begins again.' }) },
    });
    await fixture.database.query(`UPDATE slot_pools SET capacity = 4, used = 4 WHERE key = 'pool:hosted'`);
    expect((await get(id, bot.token)).status_message).toEqual({
      message: 'The run begins again. Waiting: All 4 slots for hosted runs are in use.',
    });
    await fixture.database.query(`UPDATE slot_pools SET used = 3 WHERE key = 'pool:hosted'`);
    expect((await get(id, bot.token)).status_message).toEqual({ message: 'The run begins again.' });
  });
});
