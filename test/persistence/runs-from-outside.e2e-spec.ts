import { afterAll, beforeAll, expect, it } from 'vitest';
import { readMigrations } from '#platform/persistence';
import type { RunShape } from '#testing';
import { migrationSources } from '../../apps/headrace/src/process/migrations.js';
import { ApiFixture } from '../support/api-fixture.js';

let fixture: ApiFixture;
beforeAll(async () => {
  fixture = await ApiFixture.start();
});
afterAll(() => fixture.close());

const build = async (columns: object = {}, shape: Partial<RunShape> = {}): Promise<string> =>
  (await fixture.runs.build({ by: fixture.member, team: fixture.team, ...shape, columns: { ...columns } })).id;
const marked = async (ids: Readonly<Record<string, string>>): Promise<string[]> => {
  const rows = await fixture.database.query<{ id: string }>('SELECT id FROM runs WHERE from_outside');
  const found = new Set(rows.map(({ id }) => id));
  return Object.entries(ids).flatMap(([name, id]) => (found.has(id) ? [name] : []));
};

it('marks runs of earlier versions into which text from outside can have come', async () => {
  const event = await build({ source: 'SLACK' });
  const person = await build({}, { state: 'SUCCEEDED' });
  const deleted = '00000000-0000-7000-8000-000000000000';
  const continued = await fixture.runs.build({ by: fixture.member, team: fixture.team, state: 'SUCCEEDED' });
  const { conversationId = '' } = continued;
  const parent = await build();
  const child = await build({ parent_run_id: parent, ancestor_run_ids: `{${parent}}`, started_by_run: true });
  const others = {
    child: await build({ parent_run_id: event, ancestor_run_ids: `{${event}}` }),
    rerun: await build({ rerun_of: event }),
    rerunOfDeleted: await build({ rerun_of: deleted }),
    fork: await build({ forked_from_run_id: event, forked_from_seq: 1 }),
    conversation: await build({}, { state: 'SUCCEEDED', conversationId: conversationId ?? '' }),
    unrelated: await build({ rerun_of: person }),
    caller: await build(),
  };
  const followup = (runId: string, key: string) =>
    fixture.database.query(
      `INSERT INTO run_followups (id, run_id, message, outcome, author_type, author_uid, created_at, launch_key)
       VALUES (gen_random_uuid(), $1, 'x', 'next_execution', 'user', 'x', headrace.now(), $2)`,
      [runId, key],
    );
  await followup(continued.id, 'automation/a/b');
  await followup(child, 'automation/a/c');
  await followup(others.caller, 'request/x');
  const ids = { event, person, continued: continued.id, parent, startedByParent: child, ...others };
  const expected = [
    'event',
    'continued',
    'parent',
    'startedByParent',
    'child',
    'rerun',
    'rerunOfDeleted',
    'fork',
    'conversation',
  ];
  await fixture.database.query('UPDATE runs SET from_outside = false');
  const name = 'headrace/2026-11-27-mark-runs-from-outside';
  const migration = readMigrations(migrationSources()).find((one) => one.name === name);
  await fixture.database.query(migration?.sql ?? '');
  expect(await marked(ids)).toEqual(expected);
});
