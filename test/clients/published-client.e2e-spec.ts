import OzAPI, {
  AuthenticationError,
  BadRequestError,
  ConflictError,
  NotFoundError,
  PermissionDeniedError,
  UnprocessableEntityError,
} from 'oz-agent-sdk';
import type { RunItem, RunListParams } from 'oz-agent-sdk/resources/agent';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ArtifactBuilder, noteExchange, RunBuilder, startTestApi, type TestApi, type TestPrincipal } from '#testing';

/*
 * The published client of this API from npm, with our base URL. It defines fewer states and fields than this service; those that
 * it defines have to work without changes.
 */
let api: TestApi;
let team: string;
let member: TestPrincipal;
let runs: RunBuilder;

beforeAll(async () => {
  api = await startTestApi();
  team = await api.identities.team();
  member = await api.identities.user({ [team]: 'member' });
  runs = new RunBuilder(api.database);
});
afterAll(() => api.close());

const client = (token = member.token, options: { maxRetries?: number; headers?: Record<string, string> } = {}): OzAPI =>
  new OzAPI({
    apiKey: token,
    baseURL: `${api.url}/api/v1`,
    maxRetries: options.maxRetries ?? 0,
    defaultHeaders: options.headers ?? {},
    fetch: async (input, init) => {
      const request = new Request(input, init);
      const response = await fetch(request);
      noteExchange(request.method, request.url.slice(`${api.url}/api/v1`.length), response.status);
      return response;
    },
  });

describe('oz-agent-sdk', () => {
  it('creates and retrieves a run', async () => {
    const oz = client();
    const created = await oz.agent.run({
      prompt: 'Say hello.',
      title: 'Hello',
      config: {
        name: 'greeter',
        model_id: 'model-1',
        mcp_servers: { docs: { url: 'https://docs.example.test/mcp', headers: { Authorization: 'secret' } } },
      },
    });
    expect(created).toEqual({ run_id: expect.any(String), task_id: created.run_id, state: 'QUEUED' });
    const run: RunItem = await oz.agent.runs.retrieve(created.run_id);
    expect(run).toMatchObject({
      run_id: created.run_id,
      task_id: created.run_id,
      title: 'Hello',
      prompt: 'Say hello.',
      state: 'QUEUED',
      source: 'API',
      creator: { type: 'user', uid: member.uid },
      scope: { type: 'Team', uid: team },
      agent_config: {
        name: 'greeter',
        model_id: 'model-1',
        mcp_servers: { docs: { url: 'https://docs.example.test/mcp', headers: { Authorization: '***' } } },
      },
    });
    expect(Date.parse(run.created_at)).not.toBeNaN();
    expect(run.started_at).toBeNull();
  });

  it('creates a run in the team of the X-Warp-Team-Uid header', async () => {
    const other = await api.identities.team();
    const both = await api.identities.user({ [team]: 'member', [other]: 'member' });
    const oz = client(both.token, { headers: { 'X-Warp-Team-Uid': other } });
    const { run_id } = await oz.agent.run({ prompt: 'For the others.', team: true });
    expect((await oz.agent.runs.retrieve(run_id)).scope).toEqual({ type: 'Team', uid: other });
  });

  it('lists all runs by following the cursor', async () => {
    const walkers = await api.identities.team();
    const walker = await api.identities.user({ [walkers]: 'member' });
    const oz = client(walker.token);
    const created: string[] = [];
    for (let index = 0; index < 7; index += 1) created.push((await oz.agent.run({ prompt: `Run ${index}.` })).run_id);
    const seen: string[] = [];
    let pages = 0;
    for (let cursor: string | undefined; ;) {
      const { runs: items, page_info } = await oz.agent.runs.list({
        limit: 3,
        ...(cursor === undefined ? {} : { cursor }),
      });
      seen.push(...items.map(({ run_id }) => run_id));
      pages += 1;
      cursor = page_info.next_cursor;
      if (!page_info.has_next_page) break;
    }
    expect(pages).toBe(3);
    expect(seen).toEqual(created.reverse());
  });

  it('lists runs by every filter of the client', async () => {
    const teamUid = await api.identities.team();
    const [walker, other] = [
      await api.identities.user({ [teamUid]: 'member' }),
      await api.identities.user({ [teamUid]: 'member' }),
    ];
    const environment = 'AbCdEfGhIjKlMnOpQrStUv';
    const skill = 'acme/tools:skills/review/SKILL.md';
    const [before, then, later] = ['2021-01-01T00:00:00Z', '2021-06-01T00:00:00Z', '2022-01-01T00:00:00Z'] as const;
    const meant = await runs.build({
      by: walker,
      team: teamUid,
      state: 'SUCCEEDED',
      kind: 'github_action',
      title: 'Untangle the flamingo',
      createdAt: new Date(then),
      updatedAt: new Date(later),
      config: { name: 'reviewer', model_id: 'model-7', environment_id: environment, skill_spec: skill },
      columns: {
        schedule: JSON.stringify({ schedule_id: 'sched-1', schedule_name: 'Nightly', cron_schedule: '0 3 * * *' }),
      },
    });
    await new ArtifactBuilder(api.database).build(meant.id, { type: 'PLAN' });
    const early = await runs.build({
      by: other,
      team: teamUid,
      state: 'FAILED',
      createdAt: new Date('2020-01-01T00:00:00Z'),
    });
    const late = await runs.build({
      by: other,
      team: teamUid,
      state: 'FAILED',
      createdAt: new Date('2023-01-01T00:00:00Z'),
    });
    const filters: Required<Omit<RunListParams, 'cursor' | 'limit'>> = {
      artifact_type: 'PLAN',
      created_after: before,
      created_before: later,
      creator: walker.uid,
      environment_id: environment,
      model_id: 'model-7',
      name: 'reviewer',
      q: 'flamigno',
      schedule_id: 'sched-1',
      skill,
      skill_spec: skill,
      source: 'GITHUB_ACTION',
      state: ['SUCCEEDED', 'CANCELLED'],
      updated_after: then,
    };
    const find = async (query: RunListParams) =>
      (await client(walker.token).agent.runs.list(query)).runs.map(({ run_id }) => run_id).sort();
    const all = { created_after: [meant, late], created_before: [meant, early], updated_after: [meant, late] };
    for (const [name, value] of Object.entries(filters)) {
      const expected: readonly { id: string }[] = name in all ? all[name as keyof typeof all] : [meant];
      expect({ [name]: await find({ [name]: value }) }).toEqual({ [name]: expected.map(({ id }) => id).sort() });
    }
    expect(await find(filters)).toEqual([meant.id]);
    expect(await find({})).toEqual([meant.id, early.id, late.id].sort());
  });

  it('retrieves a failed run with schedule, usage, status and artifacts in the types of the client', async () => {
    const { id } = await runs.build({
      by: member,
      team,
      state: 'FAILED',
      config: { skill_spec: 'acme/tools:skills/review/SKILL.md' },
      columns: {
        schedule: JSON.stringify({ schedule_id: 'sched-1', schedule_name: 'Nightly', cron_schedule: '0 3 * * *' }),
        usage: JSON.stringify({ cost_usd: 0.25, total_tokens: 1200 }),
      },
    });
    const artifacts = new ArtifactBuilder(api.database);
    const plan = await artifacts.build(id, { type: 'PLAN', title: 'The plan' });
    await artifacts.build(id, { type: 'PULL_REQUEST', url: 'https://forge.example.com/pr/1' });
    await artifacts.build(id, { type: 'FILE' });
    const run: RunItem = await client().agent.runs.retrieve(id);
    expect(run).toMatchObject({
      schedule: { schedule_id: 'sched-1', schedule_name: 'Nightly', cron_schedule: '0 3 * * *' },
      request_usage: { inference_cost_usd: 0.25, total_tokens: 1200 },
      status_message: { message: expect.any(String), error_code: 'environment_setup_failed' },
      agent_skill: { full_path: 'acme/tools:skills/review/SKILL.md' },
      is_sandbox_running: false,
    });
    // The list also contains an artifact of a type that the client does not define; it still distinguishes the others.
    const known = run.artifacts?.flatMap((artifact) => {
      if (artifact.artifact_type === 'PLAN') return [artifact.data.document_uid, artifact.data.title];
      if (artifact.artifact_type === 'PULL_REQUEST') return [artifact.data.url, artifact.data.branch];
      return [];
    });
    expect(known).toEqual([plan.uid, 'The plan', 'https://forge.example.com/pr/1', 'a-branch']);
    const { runs: listed } = await client().agent.runs.list({ artifact_type: 'PLAN', limit: 500 });
    expect(listed.find(({ run_id }) => run_id === id)?.artifacts).toEqual(run.artifacts);
  });

  it('lists runs by several states that are sent as repeated parameters', async () => {
    const teamUid = await api.identities.team();
    const walker = await api.identities.user({ [teamUid]: 'member' });
    const build = async (state: 'FAILED' | 'SUCCEEDED' | 'CANCELLED') =>
      (await runs.build({ by: walker, team: teamUid, state })).id;
    const [failed, succeeded] = [await build('FAILED'), await build('SUCCEEDED')];
    await build('CANCELLED');
    const { runs: items } = await client(walker.token).agent.runs.list({ state: ['FAILED', 'SUCCEEDED'] });
    expect(items.map(({ run_id }) => run_id).sort()).toEqual([failed, succeeded].sort());
  });

  it('cancels a run and returns its id', async () => {
    const oz = client();
    const { run_id } = await oz.agent.run({ prompt: 'Wait.' });
    expect(await oz.agent.runs.cancel(run_id)).toBe(run_id);
    expect((await oz.agent.runs.retrieve(run_id)).state).toBe('CANCELLED');
  });

  it('creates, updates, pauses, resumes and deletes a schedule', async () => {
    const walkers = await api.identities.team();
    const walker = await api.identities.user({ [walkers]: 'member' });
    const { schedules } = client(walker.token).agent;
    const made = await schedules.create({
      name: 'Daily review',
      cron_schedule: '0 9 * * *',
      prompt: 'Review what is open.',
      enabled: true,
      agent_config: { model_id: 'model-1' },
    });
    expect(made).toMatchObject({
      name: 'Daily review',
      enabled: true,
      agent_config: { model_id: 'model-1' },
      history: { last_ran: null, next_run: expect.stringMatching(/T09:00:00.000Z$/) },
      last_spawn_error: null,
      scope: { type: 'Team', uid: walkers },
      created_by: { uid: walker.uid },
    });
    expect(await schedules.retrieve(made.id)).toEqual(made);
    expect(await schedules.list()).toEqual({ schedules: [made] });
    const { name, prompt, enabled } = made;
    const changed = await schedules.update(made.id, { name, prompt, enabled, cron_schedule: '0 10 * * *' });
    expect(changed).toMatchObject({ cron_schedule: '0 10 * * *', agent_config: { model_id: 'model-1' } });
    expect(await schedules.pause(made.id)).toMatchObject({ enabled: false, history: { next_run: null } });
    expect(await schedules.resume(made.id)).toMatchObject({ enabled: true, history: changed.history });
    expect(await schedules.delete(made.id)).toEqual({ success: true });
    await expect(schedules.retrieve(made.id)).rejects.toBeInstanceOf(NotFoundError);
    await expect(schedules.create({ name, prompt, enabled, cron_schedule: '@daily' })).rejects.toBeInstanceOf(
      BadRequestError,
    );
  });

  it('throws the error class of the client with our error code for each rejected request', async () => {
    const oz = client();
    const stranger = await api.identities.user({ [await api.identities.team()]: 'member' });
    const build = async (state: 'PENDING' | 'SUCCEEDED' | 'INPROGRESS', kind: 'hosted' | 'self_hosted' = 'hosted') =>
      (await runs.build({ by: member, team, state, kind })).id;
    const queued = (await oz.agent.run({ prompt: 'x' })).run_id;
    const refusals: [() => Promise<unknown>, new (...values: never[]) => Error, string][] = [
      [() => oz.agent.run({}), BadRequestError, 'invalid_request'],
      [() => oz.agent.runs.list({ cursor: 'nonsense' }), BadRequestError, 'invalid_request'],
      [() => oz.agent.runs.list({ limit: 501 }), BadRequestError, 'invalid_request'],
      [() => oz.agent.runs.list({ skill: 'a/b:c', skill_spec: 'a/b:d' }), BadRequestError, 'invalid_request'],
      // Images are rejected instead of ignored: this service accepts them as attachments.
      [
        () => oz.agent.run({ prompt: 'x', images: [{ data: '', mime_type: 'image/png' }] }),
        BadRequestError,
        'invalid_request',
      ],
      [async () => oz.agent.runs.cancel(await build('SUCCEEDED')), BadRequestError, 'invalid_request'],
      [() => client(`hr_${'x'.repeat(43)}`).agent.runs.list(), AuthenticationError, 'authentication_required'],
      [() => client(stranger.token).agent.runs.retrieve(queued), PermissionDeniedError, 'not_authorized'],
      [() => oz.agent.runs.retrieve('01900000-0000-7000-8000-00000000dead'), NotFoundError, 'resource_not_found'],
      [async () => oz.agent.runs.cancel(await build('PENDING')), ConflictError, 'conflict'],
      [
        async () => oz.agent.runs.cancel(await build('INPROGRESS', 'self_hosted')),
        UnprocessableEntityError,
        'operation_not_supported',
      ],
    ];
    for (const [refusal, kind, code] of refusals) {
      const error = await refusal().then(
        () => null,
        (reason: unknown) => reason,
      );
      expect(error).toBeInstanceOf(kind);
      expect(error).toMatchObject({ error: { error_code: code, retryable: code === 'conflict' } });
    }
  });

  it('retries after a 409 and cancels the run after its state has changed', async () => {
    const { id } = await runs.build({ by: member, team, state: 'PENDING' });
    const answers: number[] = [];
    const oz = new OzAPI({
      apiKey: member.token,
      baseURL: `${api.url}/api/v1`,
      maxRetries: 2,
      fetch: async (input, init) => {
        const response = await fetch(input, init);
        answers.push(response.status);
        if (answers.length === 1) await api.database.query(`UPDATE runs SET state = 'CLAIMED' WHERE id = $1`, [id]);
        return response;
      },
    });
    expect(await oz.agent.runs.cancel(id)).toBe(id);
    expect(answers).toEqual([409, 200]);
  });
});
