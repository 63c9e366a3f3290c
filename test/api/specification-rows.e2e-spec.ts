import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TestResponse } from '#testing';
import { ApiFixture } from '../support/api-fixture.js';
import { expectProblem, UNKNOWN_RUN_ID, UNKNOWN_UID } from '../support/api-requests.js';

/** Rows of the specification about runs, conversations, transcripts and schedules; what other files tell is not repeated here. */

let fixture: ApiFixture;
beforeAll(async () => {
  fixture = await ApiFixture.start();
});
afterAll(() => fixture.close());
beforeEach(() => fixture.api.log.clear());

/** Each operation on one run. */
const OPERATIONS: readonly (readonly [method: string, tail: string])[] = [
  ['GET', ''],
  ['GET', '/timeline'],
  ['GET', '/conversation'],
  ['GET', '/transcript'],
  ['GET', '/events'],
  ['POST', '/cancel'],
  ['POST', '/followups'],
];

const ask = (status: number, [method, tail]: (typeof OPERATIONS)[number], id: string, token: string) =>
  fixture.request(status, `${method} /agent/runs/${id}${tail}`, {
    token,
    ...(tail === '/followups' ? { body: { message: 'Continue.' } } : {}),
  });
/** What may differ between two answers that tell the same. */
const reported = ({ body: { trace_id: _trace, ...rest } }: TestResponse): object => rest;

describe('the error table, 403', () => {
  it.each(OPERATIONS)('error table, 403: no permission on the run (%s …%s)', async (...operation) => {
    const { id } = await fixture.runs.build({
      by: fixture.member,
      team: fixture.team,
      state: 'SUCCEEDED',
      transcript: 'raw\n',
    });
    const answer = await ask(403, operation, id, fixture.stranger.token);
    expectProblem(fixture.api, answer, 'not_authorized');
    expect(answer.body.retryable).toBe(false);
  });

  it('error table, 403: no permission on the referenced environment or MCP servers', async () => {
    const owner = await fixture.api.identities.user({ [fixture.team]: 'owner' });
    const make = async (path: string, body: object): Promise<string> =>
      (await fixture.request(201, `POST ${path}`, { token: owner.token, body })).body.uid;
    const environment = await make('/environments', { config: { name: 'node' } });
    const server = await make('/mcp-servers', { name: 'issues', command: 'serve' });
    for (const config of [
      (uid: string) => ({ environment_id: uid }),
      (uid: string) => ({ mcp_servers: { one: { warp_id: uid } } }),
    ]) {
      const create = (status: number, uid: string, token: string) =>
        fixture.request(status, 'POST /agent/runs', { token, body: { prompt: 'Go.', config: config(uid) } });
      const real = 'environment_id' in config('') ? environment : server;
      await create(200, real, fixture.member.token);
      const refused = await create(403, real, fixture.stranger.token);
      expectProblem(fixture.api, refused, 'not_authorized', refused.body.errors);
      expect(refused.body.errors).toHaveLength(1);
      expect(reported(refused)).toEqual(reported(await create(403, UNKNOWN_UID, fixture.stranger.token)));
    }
  });

  it('error table, 403: metadata filtering not enabled is feature_not_available', async () => {
    const team = await fixture.api.identities.team();
    await fixture.database.query('UPDATE teams SET metadata_filter = false WHERE uid = $1', [team]);
    const { token } = await fixture.api.identities.user({ [team]: 'member' });
    const answer = await fixture.request(403, 'GET /agent/runs?metadata[ticket]=A-1', { token });
    expectProblem(fixture.api, answer, 'feature_not_available');
    await fixture.request(200, 'GET /agent/runs', { token });
  });
});

describe('the error table, 404', () => {
  it.each(OPERATIONS)('error table, 404: the run is unknown (%s …%s)', async (...operation) => {
    const answer = await ask(404, operation, UNKNOWN_RUN_ID, fixture.member.token);
    expectProblem(fixture.api, answer, 'resource_not_found');
    expect(answer.body.retryable).toBe(false);
  });

  it('error table, 404: no run for the external reference, or no access', async () => {
    const url = 'https://tracker.example.com/rows/1';
    const { id } = await fixture.runs.build({ by: fixture.member, team: fixture.team });
    await fixture.database.query(
      `INSERT INTO artifacts (uid, run_id, slot_key, source_key, artifact_type, data, locator, run_created_at, created_at)
       SELECT 'rows-1', id, slot_key, 'rows-1', 'EXTERNAL_REFERENCE', '{}', $2, created_at, created_at FROM runs WHERE id = $1`,
      [id, url],
    );
    const find = (status: number, token: string, asked = url) =>
      fixture.request(status, `GET /agent/run-by-external-reference?url=${asked}`, { token });
    expect((await find(200, fixture.member.token)).body).toEqual({ run_id: id });
    const noAccess = await find(404, fixture.stranger.token);
    expectProblem(fixture.api, noAccess, 'resource_not_found');
    expect(reported(noAccess)).toEqual(reported(await find(404, fixture.stranger.token, `${url}0`)));
  });
});

describe('the rows', () => {
  const titles = readdirSync('test/api', { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('-spec.ts'))
    .flatMap((file) => [
      ...readFileSync(join('test/api', file), 'utf8').matchAll(/['`](rule|error table|query param).*/g),
    ])
    .map(([line]) => line);

  const QUERY =
    'limit cursor sort_by state name model_id creator executor source execution_location created_after ' +
    'created_before updated_after environment_id skill skill_spec schedule_id ancestor_run_id metadata artifact_type q';
  const ROWS = [
    /rule 1: /,
    /rule 4.* 404: no conversation/,
    /rule 4.* 404: the conversation is unknown/,
    /rule 4.* 422/,
    /rule 5.* 404: the run is unknown/,
    /rule 5.* 404: the run has no transcript/,
    /rule 5.* 404: the conversation is unknown, or has no transcript/,
    /rule 5.* 400/,
    /error table, 403: no permission on the run/,
    /error table, 403: no permission on the conversation/,
    /error table, 403: no permission on the transcript/,
    /error table, 403: no permission on the referenced environment/,
    /error table, 403: metadata filtering not enabled/,
    /error table, 404: the run is unknown/,
    /error table, 404: .*conversation is unknown/,
    /error table, 404: .*no transcript/,
    /error table, 404: .*no conversation/,
    /error table, 404: no run for the external reference/,
    /error table, 400 and 404: the schedule ID is missing/,
    /error table, 400: an invalid cron expression/,
    /error table, 403: no permission on the schedule/,
    /error table, 403: no permission on what a schedule refers to/,
    /error table, 403: feature_not_available where schedules are switched off/,
    /query parameter sort_by: .* sort_order/,
    ...QUERY.split(' ').map((name) => new RegExp(`^.query parameters? [^:]*\\b${name}\\b`)),
  ];

  it.each(ROWS)('%s has a test named after it', (row) => {
    expect(titles.some((title) => row.test(title))).toBe(true);
  });
});
