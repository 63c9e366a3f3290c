import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newUuid } from '#platform/kernel';
import { RepairFacets } from '#domain/runs';
import { ApiFixture } from '../../support/api-fixture.js';

let fixture: ApiFixture;
beforeAll(async () => {
  fixture = await ApiFixture.start();
});
afterAll(() => fixture.close());

/** What the processor does every few minutes. */
const round = (): Promise<number> => fixture.api.app.get(RepairFacets, { strict: false }).run();
const sql = (text: string, values: unknown[] = []) => fixture.database.query<Record<string, unknown>>(text, values);
/** As a version that knows neither facets nor ancestors writes it. */
async function oldRun(parent: string | null = null, prompt = 'Go.'): Promise<string> {
  const { id } = await fixture.runs.build({
    by: fixture.member,
    team: fixture.team,
    prompt,
    columns: { parent_run_id: parent },
  });
  await sql('DELETE FROM run_facets WHERE run_id = $1', [id]);
  return id;
}
/** As the API does it today. */
const newRun = async (parent: string): Promise<string> =>
  (
    await fixture.request(200, 'POST /agent/runs', {
      token: fixture.member.token,
      body: { prompt: 'Go.', parent_run_id: parent },
    })
  ).body.run_id;
const find = async (query: string): Promise<string[]> =>
  (
    await fixture.request(200, `GET /agent/runs?sort_by=created_at&${query}`, { token: fixture.member.token })
  ).body.runs.map((run: { run_id: string }) => run.run_id);
const uptoOf = async (): Promise<string> => String((await sql('SELECT upto FROM facet_repairs'))[0]?.upto);
const moveUpto = (upto: string) => sql('UPDATE facet_repairs SET upto = $1', [upto]);

describe('runs that a process of an older version creates', () => {
  it('are found by their text, once a round has passed', async () => {
    const id = await oldRun(null, 'Polish the brass lantern.');
    expect(await find('q=lantern')).toEqual([]);
    expect(await round()).toBe(1);
    expect(await find('q=lantern')).toEqual([id]);
    expect(await round()).toBe(0);
  });

  it('are found below their ancestors, and so is what a newer one has created below them', async () => {
    const root = await oldRun();
    const child = await oldRun(root);
    const grandchild = await oldRun(child);
    const newest = [await newRun(grandchild), await newRun(child)];
    expect(await round()).toBe(5);
    for (const [above, below] of [
      [root, [child, grandchild, ...newest]],
      [child, [grandchild, ...newest]],
      [grandchild, newest.slice(0, 1)],
    ] as const) {
      expect((await find(`ancestor_run_id=${above}`)).sort()).toEqual([...below].sort());
      // By the inverted index as well as by the run's own column.
      const rows = await sql(
        `SELECT r.id FROM runs r JOIN run_facets f ON f.run_id = r.id
          WHERE f.tokens @> ARRAY[headrace.run_token(r.slot_key, 'ancestor_run_id', $1)] ORDER BY 1`,
        [above],
      );
      expect(rows.map(({ id }) => id)).toEqual([...below].sort());
    }
    const [{ ancestor_run_ids: lineage } = {}] = await sql(
      'SELECT ancestor_run_ids FROM runs WHERE id = $1',
      newest.slice(0, 1),
    );
    expect(lineage).toEqual([root, child, grandchild]);
    expect(await round()).toBe(0);
  });

  it('complete the tokens of runs of a factory, which older versions have not written', async () => {
    const { id } = await fixture.runs.build({
      by: fixture.member,
      team: fixture.team,
      metadata: { factory_uid: 'f1' },
    });
    const tokens = async () => (await sql('SELECT tokens FROM run_facets WHERE run_id = $1', [id]))[0]?.tokens;
    const complete = await tokens();
    await sql(
      `UPDATE run_facets SET tokens = array_remove(tokens, headrace.run_token(slot_key, 'factory_only', 'true')) WHERE run_id = $1`,
      [id],
    );
    expect(await tokens()).not.toEqual(complete);
    expect(await round()).toBe(1);
    expect(await tokens()).toEqual(complete);
  });

  it('keep the parent that retention has taken as the ancestor that is known', async () => {
    const gone = newUuid();
    const id = await oldRun(gone);
    const known = await oldRun(id);
    await sql('UPDATE runs SET ancestor_run_ids = $2 WHERE id = $1', [known, [newUuid(), id]]);
    await sql('DELETE FROM runs WHERE id = $1', [id]);
    const orphan = await oldRun(gone);
    const before = await sql('SELECT ancestor_run_ids FROM runs WHERE id = $1', [known]);
    expect(await round()).toBe(2);
    expect(await sql('SELECT ancestor_run_ids FROM runs WHERE id = $1', [orphan])).toEqual([
      { ancestor_run_ids: [gone] },
    ]);
    expect(await sql('SELECT ancestor_run_ids FROM runs WHERE id = $1', [known])).toEqual(before);
    // Facets of a run that is gone would never be deleted.
    expect(await sql('SELECT 1 FROM run_facets WHERE run_id = $1', [id])).toEqual([]);
  });
});

describe('a round', () => {
  it('looks again at what is young, and not at what was settled long ago', async () => {
    const old = await oldRun();
    await moveUpto(old);
    expect(await round()).toBe(0);
    expect((await sql('SELECT 1 FROM run_facets WHERE run_id = $1', [old])).length).toBe(0);
    const young = await oldRun();
    expect(await round()).toBe(1);
    expect(await uptoOf()).toBe(old);
    await sql('DELETE FROM run_facets WHERE run_id = $1', [young]);
    expect(await round()).toBe(1);
    await fixture.api.advanceClock(11 * 60_000);
    await round();
    expect((await uptoOf()) >= young).toBe(true);
    await moveUpto('00000000-0000-0000-0000-000000000000');
    expect(await round()).toBe(1);
  });

  it('goes through many runs batch by batch, also beside others', async () => {
    const like = await oldRun();
    const columns = `team_uid, slot_key, pool, state, title, prompt, source, execution_location, mode, interactive,
      creator_type, creator_uid, executor_type, executor_uid, config, queued_at, created_at, updated_at`;
    const ids = Array.from({ length: 2500 }, () => newUuid());
    await sql(
      `INSERT INTO runs (id, ${columns}) SELECT n.id, ${columns} FROM unnest($2::uuid[]) n (id), (SELECT ${columns} FROM runs WHERE id = $1) r`,
      [like, ids],
    );
    const counts = await Promise.all([round(), round(), round()]);
    const rest = await round();
    expect(counts.reduce((sum, count) => sum + count, rest)).toBe(ids.length + 1);
    expect(await round()).toBe(0);
  });
});
