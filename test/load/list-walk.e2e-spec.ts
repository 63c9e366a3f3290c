import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newUuid } from '#platform/kernel';
import { facetsOf } from '#domain/runs';
import { startTestApi, type TestApi, type TestPrincipal } from '#testing';
import { isLong } from '../support/long-tests.js';

/*
 * Walking all pages while others write: runs that do not change are met exactly once, whatever comes, continues or goes
 * away around them.
 */

const RUNS = isLong ? 50_000 : 1200;
const PAGE = isLong ? 200 : 20;
const WRITES_PER_SECOND = 100;
/** One in so many changes while the walk continues. */
const CHANGING = 10;

let api: TestApi;
let db: pg.Client;
let team: string;
let who: TestPrincipal;

beforeAll(async () => {
  api = await startTestApi();
  db = new pg.Client({ connectionString: api.database.url, options: '-c search_path=headrace,public -c timezone=UTC' });
  await db.connect();
  team = await api.identities.team();
  who = await api.identities.user({ [team]: 'member' });
  await insertRuns(RUNS);
  await db.query('VACUUM (ANALYZE) runs');
}, 120_000);
afterAll(async () => {
  await db.end();
  await api.close();
});

/** Many share a moment, a title or a skill, so that pages end between equals. */
async function insertRuns(count: number): Promise<void> {
  const ids = Array.from({ length: count }, () => newUuid());
  await db.query(
    `WITH r AS (INSERT INTO runs (id, team_uid, slot_key, pool, state, title, prompt, source, execution_location, mode, interactive,
       creator_type, creator_uid, executor_type, executor_uid, config, queued_at, created_at, updated_at)
     SELECT u.id, $1, 'team:' || $1, 'elsewhere', 'QUEUED', 'Title ' || (n % 700), 'Go.', 'API', 'REMOTE', 'normal', false, 'user', $2, 'user', $2,
       CASE WHEN n % 4 = 0 THEN '{}' ELSE jsonb_build_object('skill_spec', 'a/b:' || (n % 50)) END,
       t.at, t.at, t.at + (n % 20) * interval '1 second'
       FROM unnest($3::uuid[]) WITH ORDINALITY u (id, n), LATERAL (SELECT headrace.now() - (n / 7) * interval '1 second' - interval '1 hour' AS at) t
     RETURNING *)
     INSERT INTO run_facets (run_id, slot_key, tokens, search) SELECT ${facetsOf('r')} FROM r`,
    [team, who.uid, ids],
  );
}

/** Creates runs and moves some of those that may change, `WRITES_PER_SECOND` in all, until asked to stop. */
function startWriting(changing: readonly string[]): { stop(): Promise<{ written: number; seconds: number }> } {
  const writer = new pg.Client({ connectionString: api.database.url, options: '-c search_path=headrace,public' });
  let [isOn, written] = [true, 0];
  const begun = performance.now();
  const work = (async () => {
    await writer.connect();
    while (isOn) {
      const ahead = (written / WRITES_PER_SECOND) * 1000 - (performance.now() - begun);
      if (ahead > 0) await pause(ahead);
      const id = changing[written % changing.length];
      if (written % 3 === 0) await insertRuns(1);
      else
        await writer.query(
          `UPDATE runs SET state = CASE state WHEN 'QUEUED' THEN 'INPROGRESS' ELSE 'QUEUED' END, updated_at = headrace.now() WHERE id = $1`,
          [id],
        );
      written += 1;
    }
    await writer.end();
    return { written, seconds: (performance.now() - begun) / 1000 };
  })();
  return {
    stop: () => {
      isOn = false;
      return work;
    },
  };
}

async function walk(query: string): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor = ''; ;) {
    const { body } = await api.request(200, `GET /agent/runs?limit=${PAGE}&${query}${cursor}`, { token: who.token });
    ids.push(...(body.runs as { run_id: string }[]).map(({ run_id }) => run_id));
    if (!body.page_info.has_next_page) return ids;
    cursor = `&cursor=${encodeURIComponent(body.page_info.next_cursor)}`;
  }
}

describe(
  `walking ${RUNS} runs while ${WRITES_PER_SECOND} writes a second continue`,
  { timeout: isLong ? 600_000 : 60_000 },
  () => {
    it.each([
      ['updated_at', 'desc'],
      ['updated_at', 'asc'],
      ['created_at', 'desc'],
      ['title', 'asc'],
      ['agent', 'desc'],
    ])('lists every run whose sort key does not change exactly once (by %s, %s)', async (sort, order) => {
      const { rows } = await db.query<{ id: string }>('SELECT id FROM runs ORDER BY md5(id::text)');
      const all = rows.map(({ id }) => id);
      const changing = all.filter((_, index) => index % CHANGING === 0);
      const writing = startWriting(changing);
      const met = await walk(`sort_by=${sort}&sort_order=${order}`);
      const { written, seconds } = await writing.stop();
      expect(written).toBeGreaterThan((seconds * WRITES_PER_SECOND) / 2);
      // A change of state moves a run in one of the orders only.
      const mayMove = new Set(sort === 'updated_at' ? changing : []);
      const times = new Map<string, number>();
      for (const id of met) times.set(id, (times.get(id) ?? 0) + 1);
      expect(all.filter((id) => !mayMove.has(id) && times.get(id) !== 1)).toEqual([]);
    });
  },
);
