import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SubmitFollowup } from '#domain/runs';
import { PrincipalDirectory } from '#platform/auth';
import { TestRunner } from '#testing';
import { RUN_SOURCE_TYPES } from '../../../libs/domain/runs/src/domain/run.js';
import { ApiFixture } from '../../support/api-fixture.js';

let fixture: ApiFixture;

beforeAll(async () => {
  fixture = await ApiFixture.start();
  await fixture.database.query('UPDATE teams SET max_concurrent_runs = 1000 WHERE uid = $1', [fixture.team]);
});
afterAll(() => fixture.close());

/** A run whose agent works. */
const start = async (options: object): Promise<TestRunner> => take(await fixture.createRun(options));
async function take(runId: string): Promise<TestRunner> {
  const runner = await TestRunner.take(fixture.api, runId);
  await runner.startAgent();
  return runner;
}
const post = async (runner: TestRunner, path: string, body: object) =>
  (await runner.call(200, `POST ${path}`, {}, { lease_epoch: runner.assignment.lease_epoch, ...body })).body;
const startRun = (runner: TestRunner, fields: object = {}) =>
  post(runner, 'runs', { key: randomUUID(), prompt: 'Do it.', ...fields });
const waitFor = (runner: TestRunner, runIds: readonly string[]) =>
  post(runner, 'runs/wait', { run_ids: runIds, mode: 'wait', wait: 0 });

const CHOICE_REFUSED = {
  problem: expect.stringContaining('only runs with its own environment, agent identity and harness'),
};
const read = async (runner: TestRunner, runId: string) => (await runner.call(200, `GET runs/${runId}`)).body;
/** The agent of a run that something outside has started. */
const takeFrom = async (source: string): Promise<TestRunner> => take((await buildFrom(source)).id);
const buildFrom = (source: string) =>
  fixture.runs.build({ by: fixture.member, team: fixture.team, columns: { source } });
/** As an automation continues it for an event. */
async function continueByEvent(runId: string): Promise<void> {
  const { app } = fixture.api;
  const caller = await app
    .get(PrincipalDirectory, { strict: false })
    .callerNow(fixture.member, fixture.team, new Date());
  if (!caller) throw new Error('The member may do nothing.');
  const input = { message: 'An event.', mode: null, attachments: [], launchKey: `automation/a/${runId}` };
  expect(await app.get(SubmitFollowup, { strict: false }).execute(caller, runId, input)).toMatchObject({
    kind: 'accepted',
  });
}

/** The run has a second turn, for an event. */
async function endAfterEvent(runner: TestRunner, text = 'Done.'): Promise<TestRunner> {
  const { run_id: runId } = runner.assignment;
  await runner.completeTurn();
  await runner.finish('closed');
  await continueByEvent(runId);
  const next = await take(runId);
  const { body } = await next.call(200, 'GET commands', { version: '0', wait: '0' });
  await next.report(
    ['turn_started', { turn_id: 'e', prompt: 'An event.', followup_id: body.prompts[0].followup_id }],
    ['message_chunk', { message_id: 'e', text }],
    ['turn_ended', { turn_id: 'e', stop_reason: 'end_turn' }],
  );
  return next;
}

describe('a run into whose text something outside can have written', () => {
  it.each([
    [
      'an event that has continued the run',
      async () => {
        const parent = await start({ team: true });
        await continueByEvent(parent.assignment.run_id);
        return parent;
      },
    ],
    [
      'a rerun of a run of an event',
      async () => {
        const { run_id: runId } = (await takeFrom('CUSTOM_WEBHOOK')).assignment;
        const { body } = await fixture.request(200, `POST /agent/runs/${runId}/rerun`, { token: fixture.member.token });
        return take(body.run_id);
      },
    ],
    ['a CI job', () => takeFrom('GITHUB_ACTION')],
    [
      'the payload of an event',
      async () => {
        const files = [{ file_name: 'event-payload.json', mime_type: 'application/json', data: 'e30=' }];
        return start({ team: true, attachments: files });
      },
    ],
    [
      'the conversation of a run that an event has continued, also when that run was deleted meanwhile',
      async () => {
        const first = await start({ team: true });
        await first.completeTurn();
        await first.finish('closed');
        const { conversation_id: conversation } = await fixture.getRun(first.assignment.run_id);
        const second = await start({ team: true, conversation_id: conversation });
        await (await endAfterEvent(second)).finish('closed');
        const third = await start({ team: true, conversation_id: conversation });
        await third.completeTurn();
        await third.finish('closed');
        await fixture.database.query('DELETE FROM runs WHERE id = $1', [second.assignment.run_id]);
        return start({ team: true, conversation_id: conversation });
      },
    ],
    [
      'the result of a run that an event has continued',
      async () => {
        const parent = await start({ team: true });
        const { run_id: child } = await startRun(parent);
        const runner = await take(child);
        await endAfterEvent(runner, 'Text of a stranger.');
        expect(await waitFor(parent, [child])).toMatchObject({
          is_over: true,
          runs: [{ result: 'Text of a stranger.' }],
        });
        return parent;
      },
    ],
    [
      'the result of a run that has read such a result',
      async () => {
        const parent = await start({ team: true });
        const { run_id: child } = await startRun(parent);
        const middle = await take(child);
        const { run_id: last } = await startRun(middle);
        const runner = await take(last);
        await continueByEvent(last);
        await runner.completeTurn();
        await read(middle, last);
        await middle.completeTurn();
        await read(parent, child);
        return parent;
      },
    ],
  ])('cannot have another environment after %s', async (_what, prepare) => {
    const other = await fixture.createEnvironment({ name: 'other' }, { team: true });
    const parent = await prepare();
    expect(await startRun(parent, { environment_id: other })).toEqual(CHOICE_REFUSED);
    const { run_id: child } = await startRun(parent);
    expect(await startRun(await take(child), { environment_id: other })).toEqual(CHOICE_REFUSED);
  });

  it('is one whose source is an event or a CI job', async () => {
    const found = await fixture.database.query<{ source: string }>(
      `SELECT r.source FROM runs r WHERE r.id = ANY ($1::uuid[]) AND r.from_outside ORDER BY 1`,
      [await Promise.all(RUN_SOURCE_TYPES.map(async (source) => (await buildFrom(source)).id))],
    );
    expect(found.map(({ source }) => source)).toEqual([
      'AZURE_DEVOPS_WEBHOOK',
      'CUSTOM_WEBHOOK',
      'GITHUB_ACTION',
      'GITHUB_WEBHOOK',
      'GITLAB_WEBHOOK',
      'JIRA',
      'LINEAR',
      'SLACK',
      'TEAMS',
    ]);
  });

  it('is found without a read of the whole table by an insert of many runs whose parents were deleted', async () => {
    const { id } = await buildFrom('API');
    const db = new pg.Client({ connectionString: fixture.database.url });
    await db.connect();
    try {
      // The planner then knows that the table is small.
      await db.query('ANALYZE headrace.runs');
      await db.query('BEGIN');
      const { rows } = await db.query<{ from_outside: boolean }>(
        `INSERT INTO headrace.runs (id, team_uid, slot_key, pool, state, title, prompt, source, execution_location, mode, interactive,
            creator_type, creator_uid, executor_type, executor_uid, config, queued_at, created_at, updated_at,
            parent_run_id)
          SELECT gen_random_uuid(), team_uid, slot_key, pool, state, title, prompt, 'API', execution_location, mode, interactive,
            creator_type, creator_uid, executor_type, executor_uid, config, queued_at, created_at, updated_at, gen_random_uuid()
            FROM headrace.runs, generate_series(1, 1000) WHERE id = $1 RETURNING from_outside`,
        [id],
      );
      expect(rows.filter(({ from_outside: isFromOutside }) => isFromOutside)).toHaveLength(1000);
      const { rows: reads } = await db.query<{ tuples: number }>(
        `SELECT seq_tup_read::int AS tuples FROM pg_stat_xact_user_tables WHERE relid = 'headrace.runs'::regclass`,
      );
      expect(reads[0]?.tuples).toBeLessThan(1000);
      await db.query('ROLLBACK');
    } finally {
      await db.end();
    }
  });

  it('can have another environment while the result of a run that an event has continued was not read', async () => {
    const other = await fixture.createEnvironment({ name: 'other' }, { team: true });
    const parent = await start({ team: true });
    const { run_id: child } = await startRun(parent);
    const { run_id: clean } = await startRun(parent);
    await continueByEvent(child);
    await read(parent, clean);
    expect(await startRun(parent, { environment_id: other })).toMatchObject({ state: 'QUEUED' });
    await read(parent, child);
    expect(await startRun(parent, { environment_id: other })).toEqual(CHOICE_REFUSED);
    // Its prompt is from before.
    expect(await startRun(await take(clean), { environment_id: other })).toMatchObject({ state: 'QUEUED' });
  });
});
