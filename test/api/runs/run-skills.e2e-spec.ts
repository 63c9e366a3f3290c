import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ResolvedSkill, SkillRuns } from '#domain/agents';
import { type Caller, INITIAL_TEAM_SETTINGS } from '#platform/auth';
import { offeredSkill, offerSkills, type TestPrincipal, TestRunner, type TestResponse } from '#testing';
import { CreateRun } from '#domain/runs';
import { fieldName } from '#platform/kernel';
import { ApiFixture } from '../../support/api-fixture.js';
import { expectProblem, statementsDuring } from '../../support/api-requests.js';
import { createTeam } from './runs-of-team.js';

const GREET = 'acme/app:.agents/skills/greet/SKILL.md';
const LINT = 'acme/app:.agents/skills/lint/SKILL.md';
const TWO = ['acme/app:.agents/skills/review/SKILL.md', 'acme/app:.claude/skills/review/SKILL.md'];

const found = (spec: string, body: string, changes = {}): ResolvedSkill => ({
  kind: 'found',
  skill: offeredSkill(spec, { body, ...changes }),
});
const ANSWERS: Readonly<Record<string, ResolvedSkill>> = {
  'acme/app:greet': found('acme/app:greet', 'Greet $0 and $1, not $7.\n\n> $ARGUMENTS'),
  [GREET]: found('acme/app:greet', 'Greet $0 and $1, not $7.\n\n> $ARGUMENTS'),
  bundled: found('headrace/bundled:tidy/SKILL.md', 'Tidy up.', { name: 'tidy', bundledSkillId: 'tidy' }),
  'acme/app:large': found('acme/app:large', '$ARGUMENTS '.repeat(20_000)),
  'acme/app:review': { kind: 'ambiguous', candidates: TWO },
  'acme/app:rewiev': { kind: 'missing', candidates: TWO },
  'acme/app:nothing': { kind: 'missing', candidates: [] },
  'acme/app:broken': { kind: 'malformed', error: 'Its front matter does not parse: line 3 is no mapping.' },
  'acme/gone:x': { kind: 'unreadable', detail: 'The repository acme/gone does not exist, or is not yours to read.' },
  'acme/slow:x': { kind: 'unreadable', detail: 'acme/slow did not answer in time.', retryable: true },
};

let fixture: ApiFixture;
let asked: string[];
let admin: TestPrincipal;

beforeAll(async () => {
  fixture = await ApiFixture.start();
  asked = offerSkills(fixture.api.app, ANSWERS);
  admin = await fixture.api.identities.user({ [fixture.team]: 'admin' });
});
afterAll(() => fixture.close());
beforeEach(() => {
  fixture.api.log.clear();
  asked.length = 0;
});

const post = (status: number, fields: object, headers: Record<string, string> = {}): Promise<TestResponse> =>
  fixture.request(status, 'POST /agent/runs', {
    token: fixture.member.token,
    headers,
    body: { prompt: 'Ada "Mary Shelley"', ...fields },
  });
const create = async (fields: object): Promise<string> => (await post(200, fields)).body.run_id;
const read = async (runId: string): Promise<TestResponse['body']> =>
  (await fixture.request(200, `GET /agent/runs/${runId}`, { token: fixture.member.token })).body;

describe('a run with a skill', () => {
  const FILLED = 'Greet Ada and Mary Shelley, not $7.\n\n> Ada "Mary Shelley"';

  it('has the instructions with the prompt as arguments after the base prompt, and its name', async () => {
    const item = await read(await create({ skill: 'acme/app:greet', config: { base_prompt: 'Be kind.' } }));
    expect(item.agent_config).toEqual({
      harness: { type: 'oz' },
      model_id: 'auto',
      base_prompt: `Be kind.\n\n${FILLED}`,
      name: 'greet',
      skill_spec: GREET,
      skills: [GREET],
    });
    expect(item.agent_skill).toEqual({ name: 'greet', description: 'Does greet.', full_path: GREET });
    expect(item.prompt).toBe('Ada "Mary Shelley"');
  });

  it('sends instructions and prompt to the agent, instructions first', async () => {
    const runId = await create({ config: { skill_spec: GREET, name: 'mine' } });
    expect((await read(runId)).agent_config.name).toBe('mine');
    const { assignment } = await TestRunner.take(fixture.api, runId);
    expect(assignment).toMatchObject({ base_prompt: FILLED, prompt: 'Ada "Mary Shelley"' });
  });

  it('that continues a conversation sends its skill to the agent', async () => {
    const { id, conversationId } = await fixture.runs.build({
      by: fixture.member,
      team: fixture.team,
      state: 'SUCCEEDED',
    });
    const runId = await create({ skill: 'acme/app:lint', conversation_id: conversationId });
    const { assignment } = await TestRunner.take(fixture.api, runId);
    expect(assignment).toMatchObject({
      base_prompt: 'How to lint.',
      resume: { session_id: `session-${id}`, skill: true },
    });
  });

  it('with a built-in skill returns its id', async () => {
    const item = await read(await create({ skill: 'bundled' }));
    expect(item.agent_skill).toEqual({ name: 'tidy', description: 'Does tidy.', bundled_skill_id: 'tidy' });
    expect(item.agent_config).toMatchObject({ base_prompt: 'Tidy up.', skill_spec: 'headrace/bundled:tidy/SKILL.md' });
  });

  it('has several skills in order, each once', async () => {
    const item = await read(await create({ config: { skills: ['acme/app:lint', 'acme/app:greet', LINT] } }));
    expect(item.agent_config).toEqual({
      harness: { type: 'oz' },
      model_id: 'auto',
      base_prompt: `# Skill: lint\n\nHow to lint.\n\n# Skill: greet\n\n${FILLED}`,
      name: 'lint',
      skill_spec: LINT,
      skills: [LINT, GREET],
    });
    expect(item.agent_skill.full_path).toBe(LINT);
  });

  it('keeps the content of the skill at its creation', async () => {
    const runId = await create({ skill: 'acme/app:lint' });
    const before = await read(runId);
    asked.length = 0;
    expect(await read(runId)).toEqual(before);
    await TestRunner.take(fixture.api, runId);
    expect(asked).toEqual([]);
  });

  it('needs no additional query', async () => {
    expect(await statementsDuring(fixture.api, () => create({ skill: 'acme/app:lint' }))).toEqual([
      'runs.create-group',
    ]);
  });

  it('is found by the full, the short and the requested spec, and sorted by `agent`', async () => {
    const team = await createTeam(fixture);
    const make = async (skill: string): Promise<string> =>
      (
        await fixture.request(200, 'POST /agent/runs', {
          token: team.member.token,
          body: { prompt: 'Go.', ...(skill === '' ? {} : { skill }) },
        })
      ).body.run_id;
    const [greet, lint, colon] = [await make('acme/app:greet'), await make(LINT), await make(':lint')];
    const old = await team.buildRun({ config: { skill_spec: 'acme/app:lint' } });
    const plain = await make('');
    const lints = [lint, colon].sort();
    const list = async (query: string): Promise<TestResponse['body']> =>
      (await fixture.request(200, `GET /agent/runs?${query}`, { token: team.member.token })).body;
    const idsOf = ({ runs }: TestResponse['body']): string[] => runs.map(({ run_id }: { run_id: string }) => run_id);
    for (const sort of ['updated_at', 'agent']) {
      for (const order of ['asc', 'desc']) {
        const find = async (spec: string): Promise<string[]> =>
          idsOf(await list(`sort_by=${sort}&sort_order=${order}&skill=${encodeURIComponent(spec)}`)).sort();
        expect(await find(GREET)).toEqual([greet]);
        expect(await find('acme/app:greet')).toEqual([greet]);
        expect(await find(LINT)).toEqual(lints);
        expect(await find('acme/app:lint')).toEqual([...lints, old].sort());
        expect(await find(':lint')).toEqual([colon]);
        expect(await find('acme/app:lin')).toEqual([]);
      }
    }
    expect(idsOf(await list('sort_by=agent&sort_order=asc'))).toEqual([greet, ...lints, old, plain]);
    const seen: string[] = [];
    for (let cursor = ''; ;) {
      const page = await list(`sort_by=agent&skill=acme/app:lint&limit=1${cursor}`);
      seen.push(...idsOf(page));
      if (!page.page_info.has_next_page) break;
      cursor = `&cursor=${encodeURIComponent(page.page_info.next_cursor)}`;
    }
    expect(seen.sort()).toEqual([...lints, old].sort());
  });
});

describe('a skill that cannot be resolved', () => {
  const REFUSALS: readonly (readonly [string, string, string])[] = [
    ['matches several', 'acme/app:review', `is ambiguous; use a fully qualified name: ${TWO.join(', ')}`],
    [
      'is unknown, others are like it',
      'acme/app:rewiev',
      `names no skill that exists and that you may use; did you mean one of these: ${TWO.join(', ')}`,
    ],
    ['is unknown', 'acme/app:nothing', 'names no skill that exists and that you may use'],
    [
      'is malformed',
      'acme/app:broken',
      'names a skill that cannot be used: Its front matter does not parse: line 3 is no mapping',
    ],
    [
      'lies in a repository that is not there',
      'acme/gone:x',
      'names a skill whose repository cannot be read: The repository acme/gone does not exist, or is not yours to read',
    ],
  ];

  it.each(REFUSALS)('because it %s is rejected with 400 and the field', async (_why, spec, detail) => {
    for (const [body, pointer] of [
      [{ skill: spec, config: { skill_spec: GREET } }, '/skill'],
      [{ config: { skill_spec: spec } }, '/config/skill_spec'],
      [{ config: { skills: [GREET, spec] } }, '/config/skills/1'],
    ] as const) {
      const answer = await post(400, body);
      expectProblem(fixture.api, answer, 'invalid_request', [{ pointer, detail }]);
      expect(answer.body.detail).toBe(`\`${fieldName(pointer)}\` ${detail}.`);
    }
  });

  it('is reported with all other invalid skills', async () => {
    const answer = await post(400, {
      config: { skills: ['acme/app:nothing', GREET, 'acme/app:review', 'acme/slow:x'] },
    });
    expect(answer.body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual([
      '/config/skills/0',
      '/config/skills/2',
    ]);
  });

  it('because its repository does not respond is rejected with a retryable 503', async () => {
    const answer = await post(503, { skill: 'acme/slow:x' });
    const detail = 'names a skill whose repository cannot be read: acme/slow did not answer in time';
    expect(answer.body).toMatchObject({
      error_code: 'resource_unavailable',
      retryable: true,
      detail: `\`skill\` ${detail}. Try again shortly.`,
      errors: [{ pointer: '/skill', detail }],
    });
    expect(answer.headers.get('retry-after')).toBe('10');
  });

  it('because it is too large is rejected with 413', async () => {
    const detail =
      'must leave the configuration at most 524288 bytes as JSON, with the instructions of the skills and their arguments';
    const prompt = 'x'.repeat(900_000);
    expectProblem(fixture.api, await post(413, { skill: 'acme/app:large', prompt }), 'payload_too_large', [
      { pointer: '/skill', detail },
    ]);
    const some = { skill: 'acme/app:greet', config: { base_prompt: 'x'.repeat(262_144) }, prompt: 'y'.repeat(262_000) };
    expectProblem(fixture.api, await post(413, some), 'payload_too_large', [{ pointer: '/skill', detail }]);
  });

  it('of an agent identity is named', async () => {
    const { body: identity } = await fixture.request(201, 'POST /agent/identities', {
      token: admin.token,
      body: { name: 'reviewer', skills: ['acme/app:review'] },
    });
    const detail = `refers to the skill acme/app:review, which is ambiguous; use a fully qualified name: ${TWO.join(', ')}`;
    expectProblem(fixture.api, await post(400, { agent_identity_uid: identity.uid }), 'invalid_request', [
      { pointer: '/agent_identity_uid', detail },
    ]);
    await create({ agent_identity_uid: identity.uid, skill: GREET });
  });
});

describe('a repeated request', () => {
  it('with an idempotency key does not resolve the skill again', async () => {
    const headers = { 'Idempotency-Key': 'skilled' };
    const { body: first } = await post(200, { skill: 'acme/app:lint' }, headers);
    expect(asked).toEqual(['acme/app:lint']);
    const { body: second } = await post(200, { skill: 'acme/app:lint' }, headers);
    expect(second.run_id).toBe(first.run_id);
    expect(asked).toEqual(['acme/app:lint']);
    expectProblem(fixture.api, await post(422, { skill: 'acme/app:greet' }, headers), 'idempotency_key_reused');
  });

  it('of the service does not resolve the skill again, and may have arguments other than the prompt', async () => {
    const { uid } = fixture.member;
    const caller: Caller = {
      permission: 'runs:write',
      principal: {
        type: 'user',
        uid,
        displayName: '',
        memberships: [{ teamUid: fixture.team, role: 'member', team: INITIAL_TEAM_SETTINGS }],
        tokenUid: '',
      },
      teamUid: null,
      teamUids: [],
    };
    const launch = (): Promise<unknown> =>
      fixture.api.app.get(CreateRun).execute(caller, {
        prompt: 'From outside.',
        skillArguments: 'Ada Bob',
        skill: 'acme/app:greet',
        source: 'SCHEDULED_AGENT',
        launchKey: 'test/skilled',
        idempotency: null,
      });
    const first = (await launch()) as { runId: string };
    expect(await launch()).toMatchObject({ kind: 'created', runId: first.runId });
    expect(asked).toEqual(['acme/app:greet']);
    expect((await read(first.runId)).agent_config.base_prompt).toBe('Greet Ada and Bob, not $7.\n\n> Ada Bob');
  });
});

describe('the last run of skills', () => {
  it('includes the runs that the caller may read, in one round trip', async () => {
    const team = await createTeam(fixture);
    const at = (hour: number): Date => new Date(Date.UTC(2026, 0, 1, hour));
    const caller: Caller = {
      permission: 'runs:write',
      principal: { type: 'user', uid: team.member.uid, displayName: '', memberships: [], tokenUid: '' },
      teamUid: team.uid,
      teamUids: [team.uid],
    };
    const long = `acme/app:${'x'.repeat(600)}`;
    await team.buildRun({ config: { skill_spec: GREET }, createdAt: at(1) });
    await team.buildRun({ config: { skill_spec: GREET }, createdAt: at(2) });
    await team.buildRun({ config: { skill_spec: `${long}1/SKILL.md` }, createdAt: at(3) });
    await team.buildRun({ config: { skill_spec: `${long}2/SKILL.md` }, createdAt: at(4) });
    await fixture.runs.build({ by: team.member, config: { skill_spec: GREET }, createdAt: at(5) });
    await fixture.runs.build({ by: fixture.member, config: { skill_spec: LINT }, createdAt: at(6) });
    const skillRuns = fixture.api.app.get(SkillRuns);
    const ids = [GREET, LINT, `${long}1/SKILL.md`, `${long}3/SKILL.md`];
    let last: ReadonlyMap<string, Date> = new Map();
    const statements = await statementsDuring(fixture.api, async () => {
      last = await skillRuns.lastRuns(caller, ids);
    });
    expect(last).toEqual(
      new Map([
        [GREET, at(5)],
        [`${long}1/SKILL.md`, at(3)],
      ]),
    );
    expect(statements).toEqual(['runs.last-of-skills']);
    const onTeam = { ...caller, principal: { ...caller.principal, type: 'service_account' as const } };
    expect((await skillRuns.lastRuns(onTeam, [GREET])).get(GREET)).toEqual(at(2));
  });
});
