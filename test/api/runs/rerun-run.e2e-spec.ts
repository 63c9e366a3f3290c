import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { RUN_STATES } from '#execution/executions';
import { ObjectStore } from '#platform/storage';
import { offeredSkill, offerSkills, type TestPrincipal, TestRunner, type TestResponse } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import {
  expectProblem,
  inTeam,
  requestAnyStatus,
  sendConcurrently,
  UNKNOWN_RUN_ID,
} from '../../support/api-requests.js';

type Json = TestResponse['body'];

const GREET = 'acme/app:.agents/skills/greet/SKILL.md';
const SERVER = { command: 'serve', env: { KEY: 'secret-value' } };

let fixture: ApiFixture;
let admin: TestPrincipal;

beforeAll(async () => {
  fixture = await ApiFixture.start();
  const skill = { kind: 'found', skill: offeredSkill('acme/app:greet', { body: 'Greet $ARGUMENTS.' }) } as const;
  offerSkills(fixture.api.app, { 'acme/app:greet': skill, [GREET]: skill });
  admin = await fixture.api.identities.user({ [fixture.team]: 'admin' });
});
afterAll(() => fixture.close());
beforeEach(() => fixture.api.log.clear());

const create = async (fields: object = {}, { token } = fixture.member): Promise<string> =>
  (await fixture.request(200, 'POST /agent/runs', { token, body: { prompt: 'Go.', ...fields } })).body.run_id;
const rerun = (
  status: number,
  runId: string,
  body?: object,
  { token } = fixture.member,
  headers: Record<string, string> = {},
) => fixture.request(status, `POST /agent/runs/${runId}/rerun`, { token, body, headers });
const rerunOf = async (runId: string, body?: object, who = fixture.member): Promise<Json> =>
  read((await rerun(200, runId, body, who)).body.run_id, who);
const read = async (runId: string, { token } = fixture.member): Promise<Json> =>
  (await fixture.request(200, `GET /agent/runs/${runId}`, { token })).body;
const find = async (query: string, { token } = fixture.member): Promise<string[]> =>
  (await fixture.request(200, `GET /agent/runs?${query}`, { token })).body.runs.map(({ run_id: id }: Json) => id);
const make = async (path: 'agent/identities' | 'environments', fields: object, { token } = admin): Promise<string> =>
  (await fixture.request(201, `POST /${path}`, { token, body: fields })).body.uid;

function expectInaccessible({ body }: TestResponse, pointer: string): void {
  expect(body).toMatchObject({ error_code: 'not_authorized', errors: [{ pointer }] });
}

/** What a client sees of the input of a run. */
const inputOf = ({ prompt, title, agent_config, metadata, agent_skill, executor, scope }: Json): Json => ({
  prompt,
  title,
  agent_config,
  metadata,
  agent_skill,
  executor,
  scope,
});

describe('rerunRun', () => {
  it('creates a queued run with the same input and a new id, and the response of a creation', async () => {
    const source = await create({
      title: 'Nightly check',
      mode: 'plan',
      interactive: true,
      metadata: { ticket: 'ABC-1' },
      config: {
        name: 'check',
        model_id: 'm',
        base_prompt: 'Be kind.',
        max_cost_usd: 2,
        mcp_servers: { tools: SERVER },
      },
    });
    const { body } = await rerun(200, source);
    expect(body).toEqual({
      run_id: expect.not.stringContaining(source),
      task_id: body.run_id,
      state: 'QUEUED',
      rerun_of: source,
    });
    const [before, after] = [await read(source), await read(body.run_id)];
    expect(inputOf(after)).toEqual(inputOf(before));
    expect(after).toMatchObject({ state: 'QUEUED', rerun_of: source, source: 'API' });
    expect(before).not.toHaveProperty('rerun_of');
    for (const field of ['conversation_id', 'parent_run_id', 'schedule', 'trigger_url', 'started_at'])
      expect(after[field] ?? null).toBeNull();
    const { assignment } = await TestRunner.take(fixture.api, body.run_id);
    expect(assignment).toMatchObject({
      prompt: 'Go.',
      base_prompt: 'Be kind.',
      mode: 'plan',
      interactive: true,
      mcp_servers: { tools: SERVER },
      resume: null,
    });
  });

  it.each(RUN_STATES)('creates a run from one that is %s, and does not change it', async (state) => {
    const { id } = await fixture.runs.build({ by: fixture.member, team: fixture.team, state });
    const before = await read(id);
    expect(await rerunOf(id)).toMatchObject({ rerun_of: id, state: 'QUEUED', prompt: before.prompt });
    expect({ ...(await read(id)), run_time: null }).toEqual({ ...before, run_time: null });
  });

  it('queues the run of an external source, and the location is not repeated', async () => {
    const { id } = await fixture.runs.build({ by: fixture.member, team: fixture.team, state: 'FAILED', kind: 'local' });
    expect(await rerunOf(id)).toMatchObject({ execution_location: 'REMOTE', source: 'API' });
  });

  it('begins a new conversation, also for a run that continued one', async () => {
    const { conversationId } = await fixture.runs.build({ by: fixture.member, team: fixture.team, state: 'SUCCEEDED' });
    const source = await create({ conversation_id: conversationId });
    expect(await rerunOf(source)).not.toHaveProperty('conversation_id');
  });

  it('copies attachments, so that they do not depend on the source', async () => {
    const attachment = { file_name: 'a.txt', mime_type: 'text/plain', data: Buffer.from('content').toString('base64') };
    const source = await create({ attachments: [attachment, { ...attachment, file_name: 'b.txt' }] });
    const { run_id: copy } = await rerunOf(source);
    await fixture.api.app.get(ObjectStore).deletePrefix(`attachments/${source}`);
    const { body } = await fixture.request(200, `GET /agent/runs/${copy}/handoff/attachments`, {
      token: fixture.member.token,
    });
    expect(body.attachments).toMatchObject([
      { filename: 'a.txt', mime_type: 'text/plain' },
      { filename: 'b.txt', mime_type: 'text/plain' },
    ]);
    const url = body.attachments[0].download_url as string;
    expect((await fixture.api.atOrigin(200, `GET ${url.slice(fixture.api.url.length)}`)).text).toBe('content');
    const missing = await rerun(404, source);
    expectProblem(fixture.api, missing, 'resource_not_found');
    expect(missing.body.detail).toBe('The attachment a.txt is no longer stored.');
  });
});

describe('overrides of a rerun', () => {
  it('replace prompt, title, mode and labels', async () => {
    const source = await create({ title: 'One', metadata: { a: '1', b: '2' } });
    const item = await rerunOf(source, { prompt: 'Other.', title: 'Two', mode: 'plan', metadata: { c: '3' } });
    expect(item).toMatchObject({ prompt: 'Other.', title: 'Two', metadata: { c: '3' } });
    expect(item.metadata).toEqual({ c: '3' });
    expect(await rerunOf(source, { metadata: {} })).not.toHaveProperty('metadata');
    expect((await TestRunner.take(fixture.api, item.run_id)).assignment.mode).toBe('plan');
  });

  it('derive the title from another prompt, unless the source was given one', async () => {
    expect((await rerunOf(await create(), { prompt: 'Something else.' })).title).toBe('Something else.');
    expect((await rerunOf(await create({ title: 'Mine' }), { prompt: 'Something else.' })).title).toBe('Mine');
  });

  it('replace single fields of the configuration', async () => {
    const source = await create({ config: { name: 'a', model_id: 'm', mcp_servers: { tools: SERVER } } });
    const { agent_config: config } = await rerunOf(source, { config: { model_id: 'n', max_tokens: 5 } });
    expect(config).toMatchObject({ name: 'a', model_id: 'n', max_tokens: 5 });
    expect(Object.keys(config.mcp_servers)).toEqual(['tools']);
  });

  it('are checked like a request to create a run', async () => {
    const source = await create();
    const problems: [number, object, string, string][] = [
      [400, { prompt: ' ' }, 'invalid_request', '/prompt'],
      [400, { config: { modle_id: 'x' } }, 'invalid_request', '/config/modle_id'],
      [400, { team: false }, 'invalid_request', '/team'],
      [413, { prompt: 'x'.repeat(1_048_577) }, 'payload_too_large', '/prompt'],
    ];
    for (const [status, body, code, pointer] of problems)
      expect((await rerun(status, source, body)).body).toMatchObject({ error_code: code, errors: [{ pointer }] });
    expect(await find(`rerun_of=${source}`)).toEqual([]);
  });
});

describe('a rerun of a run with a skill', () => {
  it('resolves the skill with the new prompt as arguments, once', async () => {
    const source = await create({ skill: 'acme/app:greet', prompt: 'Ada', config: { base_prompt: 'Be kind.' } });
    const same = await rerunOf(source);
    expect(inputOf(same)).toEqual(inputOf(await read(source)));
    const other = await rerunOf(same.run_id, { prompt: 'Mary' });
    expect(other.agent_config.base_prompt).toBe('Be kind.\n\nGreet Mary.');
    expect(other).toMatchObject({ rerun_of: same.run_id, agent_skill: { name: 'greet' } });
  });

  it('can use another skill', async () => {
    const source = await create({ skill: 'acme/app:greet', prompt: 'Ada' });
    const { agent_config: config } = await rerunOf(source, { config: { skill_spec: 'acme/app:lint' } });
    expect(config).toMatchObject({ base_prompt: 'How to lint.', name: 'lint' });
    expect(config.skills).toHaveLength(1);
  });

  it('that an older version has created keeps the instructions as they were then', async () => {
    const source = await create({ skill: 'acme/app:greet', prompt: 'Ada' });
    await fixture.database.query('UPDATE runs SET submitted = NULL WHERE id = $1', [source]);
    const item = await rerunOf(source, { prompt: 'Mary' });
    expect(item.agent_config).toMatchObject({ base_prompt: 'Greet Ada.', name: 'greet' });
    expect(item.agent_config).not.toHaveProperty('skill_spec');
  });
});

describe('a rerun of a run of an agent identity', () => {
  it('is executed by the identity, with its defaults of now', async () => {
    const identity = await make('agent/identities', { name: 'reviewer', prompt: 'Review.', base_model: 'm1' });
    const source = await create({ agent_identity_uid: identity, config: { name: 'mine' } });
    await fixture.request(200, `PUT /agent/identities/${identity}`, {
      token: admin.token,
      body: { prompt: 'Review well.' },
    });
    const item = await rerunOf(source);
    expect(item).toMatchObject({
      executor: { uid: identity },
      creator: { uid: fixture.member.uid },
      agent_config: { name: 'mine', base_prompt: 'Review well.', model_id: 'm1' },
    });
  });

  it('is rejected with 403 when the identity is gone', async () => {
    const identity = await make('agent/identities', { name: 'gone' });
    const source = await create({ agent_identity_uid: identity });
    await fixture.request(204, `DELETE /agent/identities/${identity}`, { token: admin.token });
    expectInaccessible(await rerun(403, source), '/agent_identity_uid');
  });
});

describe('authorization to rerun', () => {
  it('rejects what the caller may not use with 403 and names the field', async () => {
    const environment = await make('environments', { config: { name: 'mine' }, team: false }, fixture.member);
    const source = await create({ config: { environment_id: environment } });
    expectInaccessible(await rerun(403, source, undefined, admin), '/config/environment_id');
    expect((await rerunOf(source)).agent_config.environment_id).toBe(environment);
    await fixture.request(204, `DELETE /environments/${environment}`, { token: fixture.member.token });
    expectInaccessible(await rerun(403, source), '/config/environment_id');
    expect(
      (await rerunOf(source, { config: { environment_id: await make('environments', { config: {} }) } })).state,
    ).toBe('QUEUED');
  });

  it('rejects a managed secret that no longer exists with 403', async () => {
    const secret = { token: admin.token, headers: inTeam(fixture.team) };
    await fixture.request(200, 'PUT /secrets/agent-key', { ...secret, body: { value: 'x' } });
    const source = await create({ config: { harness_auth_secrets: { claude_auth_secret_name: 'agent-key' } } });
    await rerun(200, source);
    await fixture.request(204, 'DELETE /secrets/agent-key', secret);
    expectInaccessible(await rerun(403, source), '/config/harness_auth_secrets/claude_auth_secret_name');
  });

  it('keeps the owner of the source, also for a caller on several teams', async () => {
    const source = await create();
    const item = await rerunOf(source, undefined, fixture.adminOfBoth);
    expect(item.scope).toEqual({ type: 'Team', uid: fixture.team });
    const personal = await create({ team: false });
    expect((await rerunOf(personal)).scope).toEqual({ type: 'User', uid: fixture.member.uid });
    expectProblem(fixture.api, await rerun(403, personal, undefined, admin), 'not_authorized');
  });

  it('rejects a viewer and another team with 403, and an unknown run with 404', async () => {
    const source = await create();
    for (const who of [fixture.viewer, fixture.stranger])
      expectProblem(fixture.api, await rerun(403, source, undefined, who), 'not_authorized');
    expectProblem(fixture.api, await rerun(404, UNKNOWN_RUN_ID), 'resource_not_found');
    expect(await find(`rerun_of=${source}`)).toEqual([]);
  });
});

describe('Idempotency-Key of a rerun', () => {
  it('creates one run for concurrent and repeated requests', async () => {
    const source = await create();
    const headers = { 'Idempotency-Key': 'rerun-once' };
    const answers = await sendConcurrently(fixture.api, 'LOCK TABLE headrace.idempotency_keys IN SHARE MODE', () =>
      Array.from({ length: 10 }, () =>
        requestAnyStatus(fixture.api, `POST /agent/runs/${source}/rerun`, { token: fixture.member.token, headers }),
      ),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    const again = await rerun(200, source, undefined, fixture.member, headers);
    expect(await find(`rerun_of=${source}`)).toEqual([again.body.run_id]);
    expect(new Set(answers.map(({ body }) => body.run_id))).toEqual(new Set([again.body.run_id]));
  });

  it('is rejected with 422 for other overrides, and for another source', async () => {
    const source = await create();
    const headers = { 'Idempotency-Key': 'rerun-other' };
    await rerun(200, source, { prompt: 'One.' }, fixture.member, headers);
    const others = [
      await rerun(422, source, { prompt: 'Two.' }, fixture.member, headers),
      await rerun(422, await create(), { prompt: 'One.' }, fixture.member, headers),
    ];
    for (const answer of others) expectProblem(fixture.api, answer, 'idempotency_key_reused');
  });
});

describe('query parameter rerun_of', () => {
  it('finds the reruns of a run, and none of other runs', async () => {
    const [source, other] = [await create(), await create()];
    const first = (await rerunOf(source)).run_id;
    const second = (await rerunOf(source)).run_id;
    const ofFirst = (await rerunOf(first)).run_id;
    expect((await find(`rerun_of=${source}`)).sort()).toEqual([first, second].sort());
    expect(await find(`rerun_of=${first.toUpperCase()}`)).toEqual([ofFirst]);
    expect(await find(`rerun_of=${other}`)).toEqual([]);
    expect(await find(`rerun_of=${source}&state=FAILED`)).toEqual([]);
    expect(await find(`rerun_of=${source}`, fixture.stranger)).toEqual([]);
  });

  it('rejects a value that is no id with 400', async () => {
    const answer = await fixture.request(400, 'GET /agent/runs?rerun_of=nonsense', { token: fixture.member.token });
    expectProblem(fixture.api, answer, 'invalid_request', [
      { pointer: '/rerun_of', detail: 'must be the id of a run' },
    ]);
  });

  it('of another media type is rejected with 415', async () => {
    const { token } = fixture.member;
    const line = `POST /agent/runs/${await create()}/rerun`;
    await fixture.request(415, line, { token, body: '{}', contentType: 'text/plain' });
  });
});
