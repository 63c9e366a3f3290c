import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestPrincipal } from '#testing';
import { dataSet, expectedIds, type ModelQuery, type ModelRun, query } from './list-model.js';
import { type Place, store } from './list-model-store.js';
import { ApiFixture } from '../../support/api-fixture.js';
import { isLong } from '../../support/long-tests.js';

const DATA_SETS = isLong ? 1500 : 12;
const QUERIES = 16;

let fixture: ApiFixture;

beforeAll(async () => {
  fixture = await ApiFixture.start();
});
afterAll(() => fixture.close());

function addressOf(runs: readonly ModelRun[], asked: ModelQuery): string {
  const parameters = new URLSearchParams({
    sort_by: asked.sort,
    sort_order: asked.order,
    limit: String(asked.limit),
    ...asked.filters,
  });
  for (const state of asked.states) parameters.append('state', state);
  for (const [name, values] of Object.entries(asked.repeated))
    for (const value of values) parameters.append(name, value);
  const ancestor = asked.ancestor === null ? undefined : runs[asked.ancestor]?.id;
  if (ancestor !== undefined) parameters.set('ancestor_run_id', ancestor);
  return parameters.toString();
}

/** All pages, one after the other. */
async function walk(who: TestPrincipal, parameters: string, team: string | null): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor = ''; ;) {
    const { body } = await fixture.request(200, `GET /agent/runs?${parameters}${cursor}`, {
      token: who.token,
      headers: team === null ? {} : { 'X-Headrace-Team-Uid': team },
    });
    ids.push(...(body.runs as { run_id: string }[]).map(({ run_id }) => run_id));
    if (!body.page_info.has_next_page) return ids;
    cursor = `&cursor=${encodeURIComponent(body.page_info.next_cursor)}`;
  }
}

describe('lists and the rules in memory', { timeout: isLong ? 900_000 : 120_000 }, () => {
  it(`agree on ${DATA_SETS} data sets, ${QUERIES} queries each`, async () => {
    const { identities, database } = fixture.api;
    const [team, other] = [await identities.team(), await identities.team()];
    let found = 0;
    await fc.assert(
      fc.asyncProperty(dataSet, fc.array(query, { minLength: QUERIES, maxLength: QUERIES }), async (runs, queries) => {
        const who = await identities.user({ [team]: 'member', [other]: 'viewer' });
        const place: Place = { team, other, userUid: who.uid };
        await database.query('DELETE FROM run_facets');
        await database.query('DELETE FROM runs');
        await store(database, runs, place);
        for (const asked of queries) {
          if (asked.ancestor !== null && asked.ancestor >= runs.length) continue;
          const header = asked.team === null ? null : place[asked.team];
          const ids = await walk(who, addressOf(runs, asked), header);
          expect(ids, JSON.stringify(asked)).toEqual(expectedIds(runs, asked));
          found += ids.length;
        }
      }),
      { numRuns: DATA_SETS, ...(isLong ? {} : { seed: 20_261_121 }) },
    );
    // Queries that find nothing agree easily.
    expect(found).toBeGreaterThan(DATA_SETS * QUERIES);
  });
});
