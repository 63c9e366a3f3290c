import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '#testing';
import { PlacementStore } from '../../libs/execution/executions/src/persistence/placement.store.js';
import { isLong } from '../support/long-tests.js';

const BACKLOG = isLong ? 20_000 : 2_000;
const FREED_SLOTS = 200;
const SLOTS = 8;
/** Another team's run has to start within a second of the next free slot; this is what the placement may take of it. */
const PROMISE_MS = 500;

let api: TestApi;
let placement: PlacementStore;

beforeAll(async () => {
  // One owner may hold every slot, so that nothing but the order of turns protects the other one.
  api = await startTestApi({ settings: { maxConcurrentRuns: SLOTS, maxConcurrentRunsPerTeam: SLOTS } });
  placement = api.app.get(PlacementStore);
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.database.query('TRUNCATE runs, executions, slot_pools CASCADE');
  await placement.setCapacity();
});

/** Queued runs of a team, the first the oldest. */
const queue = (team: string, count: number, minutesAgo: number) =>
  api.database.query(
    `INSERT INTO runs (id, team_uid, slot_key, pool, state, title, prompt, source, execution_location, mode, interactive,
       creator_type, creator_uid, executor_type, executor_uid, config, queued_at, created_at, updated_at)
     SELECT gen_random_uuid(), $1, 'team:' || $1, 'hosted', 'QUEUED', 't', 'p', 'API', 'REMOTE', 'normal', false,
       'user', 'u', 'user', 'u', '{}', headrace.now() - $3 * interval '1 minute' + i * interval '1 ms', headrace.now(), headrace.now()
       FROM generate_series(1, $2::int) i`,
    [team, count, minutesAgo],
  );

/** Ends the oldest execution, as its runner would, and returns which team the freed slot is given to. */
async function nextTurn(): Promise<string | undefined> {
  const [oldest] = await api.database.query<{ id: string }>(
    'SELECT id FROM executions WHERE ended_at IS NULL ORDER BY id LIMIT 1',
  );
  await api.database.query('SELECT release_slot($1)', [oldest?.id]);
  await api.database.query(`UPDATE executions SET phase = 'ended', ended_at = headrace.now() WHERE id = $1`, [
    oldest?.id,
  ]);
  const [offer] = await placement.placeHosted('test');
  const [execution] = await api.database.query<{ slot_key: string }>('SELECT slot_key FROM executions WHERE id = $1', [
    offer?.executionId ?? 0,
  ]);
  return execution?.slot_key;
}

it(`divides ${FREED_SLOTS} freed slots evenly between a team with ${BACKLOG} queued runs and one that came later`, async () => {
  await queue('backlog', BACKLOG, 60);
  expect(await placement.placeHosted('test')).toHaveLength(SLOTS);
  await queue('later', FREED_SLOTS, 1);
  const turns: Record<string, number> = {};
  for (let slot = 0; slot < FREED_SLOTS; slot += 1) {
    const owner = (await nextTurn()) ?? 'nobody';
    turns[owner] = (turns[owner] ?? 0) + 1;
  }
  // Until the later team holds as many slots as the other one, it gets every one.
  expect(turns['team:backlog']).toBeGreaterThanOrEqual(FREED_SLOTS / 2 - SLOTS);
  expect(turns['team:later']).toBeGreaterThanOrEqual(FREED_SLOTS / 2 - SLOTS);
});

it(`gives the next free slot to the run of another team at once, with ${BACKLOG} runs queued before it`, async () => {
  await queue('backlog', BACKLOG, 60);
  await placement.placeHosted('test');
  await queue('later', 1, 0);
  const from = performance.now();
  expect(await nextTurn()).toBe('team:later');
  expect(performance.now() - from).toBeLessThan(PROMISE_MS);
});

it('reads as many pages for a placement with a long backlog as with a short one', async () => {
  const pages = async (backlog: number): Promise<number> => {
    await api.database.query('TRUNCATE runs, executions, slot_pools CASCADE');
    await placement.setCapacity();
    await queue('backlog', backlog, 60);
    await api.database.query('VACUUM ANALYZE runs');
    await placement.placeHosted('test');
    const counts: number[] = [];
    for (let round = 0; round < 5; round += 1) {
      await api.database.query(`UPDATE slot_pools SET capacity = capacity + 1 WHERE key = 'pool:hosted'`);
      const [row] = await api.database.query<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(
        `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT * FROM place_executions(ARRAY['hosted'], ARRAY[NULL], 1, 1000, 60000, 'test')`,
      );
      const plan = row?.['QUERY PLAN'][0].Plan;
      expect(plan?.['Actual Rows']).toBe(1);
      counts.push((plan?.['Shared Hit Blocks'] ?? 0) + (plan?.['Shared Read Blocks'] ?? 0));
    }
    // The first call of a connection also reads catalogs.
    return Math.min(...counts);
  };
  const [few, many] = [await pages(20), await pages(BACKLOG)];
  expect(many).toBeLessThan(few + 60);
});
