import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GitFixture, type TestPrincipal, TestRunner, type TestResponse } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import { expectProblem, statementsDuring } from '../../support/api-requests.js';

/* Runs with skills of real repositories. What does not depend on where skills come from is in run-skills.e2e-spec.ts. */

const root = mkdtempSync(join(tmpdir(), 'headrace-run-skills-'));
const github = join(root, 'github');
const skill = (name: string, body: string): string =>
  `---\nname: ${name}\ndescription: Does ${name}.\n---\n\n${body}\n`;
const REVIEW = 'acme/tools:.agents/skills/review/SKILL.md';
const DEPLOYS = ['acme/tools:.agents/skills/deploy/SKILL.md', 'acme/tools:.claude/skills/deploy/SKILL.md'];

let fixture: ApiFixture;
let tools: GitFixture;
let environment: string;
/** Of `member` alone; its repository is `own/kit`. */
let kit: string;

beforeAll(async () => {
  mkdirSync(github, { recursive: true });
  tools = new GitFixture(join(github, 'acme/tools.git'));
  tools.commit({
    '.agents/skills/review/SKILL.md': skill('review', 'Review $0 like $ARGUMENTS[1], not $9.'),
    '.agents/skills/deploy/SKILL.md': skill('deploy', 'Deploy so.'),
    '.claude/skills/deploy/SKILL.md': skill('deploy', 'Deploy otherwise.'),
    '.codex/skills/broken/SKILL.md': '---\nname: [broken\n---\nBody\n',
    'docs/howto/SKILL.md': '# How\n\nFollow the guide.\n',
  });
  new GitFixture(join(github, 'own/kit.git')).commit({ '.warp/skills/sharpen/SKILL.md': skill('sharpen', 'Sharpen.') });
  fixture = await ApiFixture.start({ settings: { githubUrl: github, gitLocalRoots: [github], skillsCacheTtl: 0 } });
  const admin = await fixture.api.identities.user({ [fixture.team]: 'admin' });
  environment = await newEnvironment(admin, 'tools', { owner: 'acme', repo: 'tools' });
  kit = await newEnvironment(fixture.member, 'kit', { owner: 'own', repo: 'kit' }, { team: false });
});
afterAll(async () => {
  await fixture.close();
  rmSync(root, { recursive: true, force: true });
});

async function newEnvironment({ token }: TestPrincipal, name: string, repository: object, more = {}): Promise<string> {
  const body = { config: { name, github_repos: [repository] }, ...more };
  return (await fixture.request(201, 'POST /environments', { token, body })).body.uid;
}
const post = (status: number, fields: object, { token } = fixture.member, headers = {}): Promise<TestResponse> =>
  fixture.request(status, 'POST /agent/runs', {
    token,
    headers,
    body: { prompt: 'src "the house rules"', ...fields },
  });
const create = async (fields: object, who = fixture.member): Promise<string> =>
  (await post(200, fields, who)).body.run_id;
const read = async (runId: string, { token } = fixture.member): Promise<TestResponse['body']> =>
  (await fixture.request(200, `GET /agent/runs/${runId}`, { token })).body;
const FILLED = 'Review src like the house rules, not $9.';

describe('a skill of a repository', () => {
  it.each(['acme/tools:review', REVIEW, 'tools:review', ':.agents/skills/review/SKILL.md', 'review'])(
    'is found by %s in the environment of the run',
    async (spec) => {
      const item = await read(await create({ skill: spec, config: { environment_id: environment } }));
      expect(item.agent_config).toEqual({
        harness: { type: 'oz' },
        model_id: 'auto',
        environment_id: environment,
        base_prompt: FILLED,
        name: 'review',
        skill_spec: REVIEW,
        skills: [REVIEW],
      });
      expect(item.agent_skill).toEqual({ name: 'review', description: 'Does review.', full_path: REVIEW });
    },
  );

  it('is found in environments of the caller and in public repositories when the run has no environment', async () => {
    expect((await read(await create({ skill: 'review' }))).agent_skill.full_path).toBe(REVIEW);
    const item = await read(
      await create({ skill: 'acme/tools:docs/howto/SKILL.md' }, fixture.stranger),
      fixture.stranger,
    );
    expect(item.agent_skill).toEqual({
      name: 'howto',
      description: 'Follow the guide.',
      full_path: 'acme/tools:docs/howto/SKILL.md',
    });
    expect(item.agent_config.base_prompt).toBe('# How\n\nFollow the guide.');
  });

  it('of an environment that the caller may not use is not found', async () => {
    const full = 'own/kit:.warp/skills/sharpen/SKILL.md';
    const own = await create({ team: false, skill: 'sharpen', config: { environment_id: kit } });
    expect((await read(own)).agent_skill.full_path).toBe(full);
    const [problem] = (await post(400, { skill: 'sharpen' }, fixture.stranger)).body.errors;
    expect(problem).toMatchObject({ pointer: '/skill', detail: expect.stringMatching(/^names no skill/) });
    expect(problem.detail).not.toContain('own/kit');
  });

  it('is executed with its content at the creation of the run', async () => {
    const before = await create({ skill: 'acme/tools:review' });
    tools.commit({ '.agents/skills/review/SKILL.md': skill('review', 'Review again.') });
    const after = await create({ skill: 'acme/tools:review' });
    tools.commit({ '.agents/skills/review/SKILL.md': skill('review', 'Review $0 like $ARGUMENTS[1], not $9.') });
    expect((await read(after)).agent_config.base_prompt).toBe('Review again.');
    const { assignment } = await TestRunner.take(fixture.api, before);
    expect(assignment).toMatchObject({ base_prompt: FILLED, prompt: 'src "the house rules"' });
  });

  it('that was deleted does not fail a repeated request', async () => {
    const headers = { 'Idempotency-Key': 'gone' };
    tools.commit({ '.agents/skills/passing/SKILL.md': skill('passing', 'Pass.') });
    const { body: first } = await post(200, { skill: 'acme/tools:passing' }, fixture.member, headers);
    tools.git('rm', '--quiet', '-r', '.agents/skills/passing');
    tools.commit({});
    await post(400, { skill: 'acme/tools:passing' });
    expect((await post(200, { skill: 'acme/tools:passing' }, fixture.member, headers)).body.run_id).toBe(first.run_id);
  });

  it('is listed with the time of its last run', async () => {
    const runId = await create({ skill: 'acme/tools:review' });
    const { created_at } = await read(runId);
    const { body } = await fixture.request(200, 'GET /agent?repo=acme/tools', { token: fixture.member.token });
    const variants = body.agents.flatMap(({ variants: all }: { variants: { id: string }[] }) => all);
    const lastOf = (id: string): unknown =>
      variants.find((variant: { id: string }) => variant.id === id)?.last_run_timestamp;
    expect(lastOf(REVIEW)).toBe(created_at);
    expect(lastOf(DEPLOYS[0] ?? '')).toBeNull();
  });
});

describe('a skill that cannot be resolved', () => {
  it.each([
    ['acme/tools:deploy', /^is ambiguous; /, DEPLOYS],
    ['acme/tools:reviw', /^names no skill that exists and that you may use; did you mean one of these: /, [REVIEW]],
    ['acme/tools:broken', /^names a skill that cannot be used: /, []],
    ['acme/nothing:review', /^names a skill whose repository cannot be read: /, []],
    ['acme/tools:../../own/kit.git:x', /^names no skill/, []],
  ])('is rejected with 400: %s', async (spec, detail, candidates) => {
    const answer = await post(400, { config: { skill_spec: spec } });
    const [issue] = answer.body.errors;
    expectProblem(fixture.api, answer, 'invalid_request', [{ pointer: '/config/skill_spec', detail: issue.detail }]);
    expect(issue.detail).toMatch(detail);
    for (const candidate of candidates) expect(issue.detail).toContain(candidate);
    expect(answer.text).not.toContain(root);
  });
});

it('a cached skill needs few queries', async () => {
  const warm = await ApiFixture.start({
    database: fixture.database,
    settings: { githubUrl: github, gitLocalRoots: [github] },
  });
  try {
    const make = (): Promise<unknown> =>
      warm.api.request(200, 'POST /agent/runs', {
        token: fixture.member.token,
        body: { prompt: 'Go.', skill: REVIEW, config: { environment_id: environment } },
      });
    await make();
    const statements = await statementsDuring(warm.api, make);
    expect(statements.at(-1)).toBe('runs.create-group');
    expect(statements.length).toBeLessThanOrEqual(3);
  } finally {
    await warm.close();
  }
});
