import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { MirrorSkillSource, type SkillRepository, SkillRuns, SkillSource, SkillSources } from '#domain/agents';
import { MirrorCache } from '#platform/git';
import { TOKEN_CACHE_MS } from '#platform/auth';
import { GitFixture, GithubDouble, GitServer, startTestApi, type TestApi, type TestPrincipal, until } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import { inTeam, pointersOf } from '../../support/api-requests.js';
import { isLong } from '../../support/long-tests.js';

interface Variant {
  id: string;
  description: string;
  base_prompt: string;
  error?: string;
  last_run_timestamp: string | null;
  source: { owner: string; name: string; skill_path: string };
  environments: { uid: string; name: string }[];
}
interface Agent {
  name: string;
  variants: Variant[];
}

const DIRECTORIES = '.agents .warp .claude .codex .cursor .gemini .copilot .factory .github .opencode'.split(' ');
const SECRET_TEXT = 'what-lies-outside-of-the-repository';
const skill = (name: string, description = `Does ${name}.`, body = `How to ${name}.`): string =>
  `---\nname: ${name}\ndescription: ${description}\n---\n\n${body}\n`;

const root = mkdtempSync(join(tmpdir(), 'headrace-skills-'));
const github = join(root, 'github');
let api: TestApi;
let fixture: ApiFixture;
let tools: GitFixture;
let nobody: TestPrincipal;
const started: string[] = [];
/** When set, readings wait for it. */
let held: Promise<void> | undefined;

/** The source of the product, with a note of each reading. */
class WatchedSource extends SkillSource {
  override readonly id = 'watched';
  private readonly source = new MirrorSkillSource(
    new MirrorCache({ directory: join(root, 'mirrors'), localRoots: [github] }),
  );

  override reads(): boolean {
    return true;
  }

  override async read(repository: SkillRepository, known: ReadonlySet<string>, signal: AbortSignal) {
    started.push(`${repository.owner}/${repository.name}`);
    await held;
    return this.source.read(repository, known, signal);
  }
}

async function environment(
  { token }: TestPrincipal,
  config: object,
  options: { team?: boolean } = {},
): Promise<string> {
  return (await api.request(201, 'POST /environments', { token, body: { config, ...options } })).body.uid;
}

async function list({ token }: TestPrincipal, query = '', headers: Record<string, string> = {}): Promise<Agent[]> {
  return (await api.request(200, `GET /agent${query}`, { token, headers })).body.agents;
}
const variantsOf = (agents: readonly Agent[], repository: string): Variant[] =>
  agents.flatMap(({ variants }) => variants).filter(({ id }) => id.startsWith(`${repository}:`));
const named = (agents: readonly Agent[], name: string): Variant[] =>
  agents.find((agent) => agent.name === name)?.variants ?? [];

beforeAll(async () => {
  mkdirSync(github, { recursive: true });
  writeFileSync(join(root, 'SKILL.md'), skill('outside', SECRET_TEXT, SECRET_TEXT));
  tools = new GitFixture(join(github, 'acme/tools.git'));
  tools.commit({
    ...Object.fromEntries(
      DIRECTORIES.map((directory) => [`${directory}/skills/in${directory}/SKILL.md`, skill(`in${directory}`)]),
    ),
    '.agents/skills/review/SKILL.md': skill('review', 'Reviews.', 'Review $ARGUMENTS'),
    '.claude/skills/review/SKILL.md': skill('review', 'Reviews otherwise.'),
    '.agents/skills/plain/SKILL.md': '# Plain\n\nThe first\nparagraph.\n\nThe second.\n',
    '.agents/skills/broken/SKILL.md': '---\nname: [broken\n---\nBody\n',
    '.agents/skills/typed/SKILL.md': '---\nname: 5\n---\nBody\n',
    '.agents/skills/huge/SKILL.md': skill('huge', 'Huge.', 'x'.repeat(300_000)),
    '.agents/skills/binary/SKILL.md': Buffer.from([0xff, 0xfe, 0x00, 0x41]),
    '.agents/skills/leaves/SKILL.md': { link: join(root, 'SKILL.md') },
    '.agents/skills/climbs/SKILL.md': { link: '../../../../../../SKILL.md' },
    '.agents/skills/folder': { link: root },
    '.agents/skills/deep/er/SKILL.md': skill('too-deep'),
    '.agents/skills/lower/skill.md': skill('lower'),
    'elsewhere/SKILL.md': skill('elsewhere'),
  });
  api = await startTestApi({ settings: { githubUrl: github, gitLocalRoots: [github] } });
  fixture = await ApiFixture.over(api);
  nobody = await api.identities.user({});
  api.app.get(SkillSources, { strict: false }).register(new WatchedSource());
});
afterAll(async () => {
  await api.close();
  rmSync(root, { recursive: true, force: true });
});

describe('GET /agent', () => {
  let toolbox: string;
  beforeAll(async () => {
    toolbox = await environment(fixture.admin, {
      name: 'Toolbox',
      github_repos: [{ owner: 'acme', repo: 'tools' }],
    });
  });

  it('finds the skills of the ten directories, and nothing outside of the repository', async () => {
    const agents = await list(fixture.member);
    const found = variantsOf(agents, 'acme/tools').map(({ source }) => source.skill_path);
    expect(found.sort()).toEqual(
      [
        ...DIRECTORIES.map((directory) => `${directory}/skills/in${directory}/SKILL.md`),
        '.agents/skills/review/SKILL.md',
        '.claude/skills/review/SKILL.md',
        '.agents/skills/plain/SKILL.md',
      ].sort(),
    );
    expect(JSON.stringify(agents)).not.toContain(SECRET_TEXT);
    expect(named(agents, 'plain')).toEqual([
      {
        id: 'acme/tools:.agents/skills/plain/SKILL.md',
        description: 'The first paragraph.',
        base_prompt: '# Plain\n\nThe first\nparagraph.\n\nThe second.',
        last_run_timestamp: null,
        source: { owner: 'acme', name: 'tools', skill_path: '.agents/skills/plain/SKILL.md' },
        environments: [{ uid: toolbox, name: 'Toolbox' }],
      },
    ]);
  });

  it('groups skills of the same name by their directories', async () => {
    const review = named(await list(fixture.viewer), 'review');
    expect(review.map(({ id, description }) => [id, description])).toEqual([
      ['acme/tools:.agents/skills/review/SKILL.md', 'Reviews.'],
      ['acme/tools:.claude/skills/review/SKILL.md', 'Reviews otherwise.'],
    ]);
  });

  it('returns malformed skills only on request, each with its error', async () => {
    const well = variantsOf(await list(fixture.member), 'acme/tools');
    expect(well.every(({ error }) => error === undefined)).toBe(true);
    const agents = await list(fixture.member, '?include_malformed_skills=true');
    const faults = variantsOf(agents, 'acme/tools').filter(({ error }) => error !== undefined);
    expect(faults.map(({ source }) => source.skill_path.split('/')[2]).sort()).toEqual([
      'binary',
      'broken',
      'huge',
      'typed',
    ]);
    expect(named(agents, 'broken')[0]).toMatchObject({
      description: '',
      base_prompt: '',
      error: expect.stringMatching(/^The front matter is not valid YAML, line 2: /),
    });
    expect(named(agents, 'typed')[0]?.error).toBe('`name` is not a text.');
    expect(named(agents, 'huge')[0]?.error).toMatch(/^The file has 300\d+ bytes; at most 262144 are read\.$/);
    expect(named(agents, 'binary')[0]?.error).toBe('The file is not UTF-8 text.');
  });

  it('lists built-in skills', async () => {
    const bundled = variantsOf(await list(nobody), 'headrace/bundled');
    expect(bundled.map(({ source }) => source.skill_path)).toContain('review-changes/SKILL.md');
    expect(bundled.every(({ environments }) => environments.length === 0)).toBe(true);
    const only = await list(nobody, '?repo=headrace/bundled');
    expect(only.flatMap(({ variants }) => variants)).toHaveLength(bundled.length);
  });

  it('lists one repository with and without an environment', async () => {
    const inTools = await list(fixture.member, '?repo=Acme/TOOLS');
    expect(inTools.flatMap(({ variants }) => variants)).toHaveLength(13);
    expect(inTools[0]?.variants[0]?.environments).toEqual([{ uid: toolbox, name: 'Toolbox' }]);
    new GitFixture(join(github, 'public/one.git')).commit({ '.warp/skills/a/SKILL.md': skill('from-one') });
    expect(await list(fixture.member, '?repo=public/one')).toMatchObject([
      { name: 'from-one', variants: [{ environments: [] }] },
    ]);
  });

  it.each([
    'acme',
    'acme/',
    '/tools',
    'acme/tools/x',
    '../tools',
    'acme/..',
    'acme/.',
    'a b/c',
    'acme/tools.git',
    '%00/x',
    '',
  ])('rejects the repository %j with 400', async (repo) => {
    const query = repo === '%00/x' ? repo : encodeURIComponent(repo);
    const { body } = await api.request(400, `GET /agent?repo=${query}`, { token: fixture.member.token });
    expect(body.error_code).toBe('invalid_request');
    expect(pointersOf(body)).toEqual(['/repo']);
  });

  it('rejects an unreadable repository with 400 without details of the machine', async () => {
    const { body } = await api.request(400, 'GET /agent?repo=acme/none', { token: fixture.member.token });
    expect(body.detail).toBe('`repo` cannot be read: There is no such repository, or it may not be read.');
    expect(JSON.stringify(body)).not.toContain(root);
  });

  it.each(['refresh=yes', 'sort_by=age', 'include_malformed_skills=2', 'repos=a/b'])(
    'rejects %s with 400',
    async (query) => {
      const { body } = await api.request(400, `GET /agent?${query}`, { token: fixture.member.token });
      expect(pointersOf(body)).toEqual([`/${query.split('=')[0] ?? ''}`]);
    },
  );

  it('omits repositories that cannot be read, and logs them', async () => {
    const owner = await api.identities.user({});
    await environment(
      owner,
      {
        github_repos: [
          { owner: 'gone', repo: 'away' },
          { owner: 'acme', repo: 'tools' },
        ],
      },
      { team: false },
    );
    expect(variantsOf(await list(owner), 'acme/tools')).toHaveLength(13);
    expect(api.log.text).toContain('The skills of gone/away cannot be read');
  });

  it('sorts by the last run', async () => {
    const runs = api.app.get(SkillRuns, { strict: false });
    const reported = vi.spyOn(runs, 'lastRuns').mockResolvedValue(
      new Map([
        ['acme/tools:.agents/skills/plain/SKILL.md', new Date('2026-01-01T00:00:00Z')],
        ['acme/tools:.claude/skills/review/SKILL.md', new Date('2026-02-01T00:00:00Z')],
      ]),
    );
    try {
      const agents = await list(fixture.member, '?sort_by=last_run&repo=acme/tools');
      expect(agents.slice(0, 3).map(({ name }) => name)).toEqual(['review', 'plain', 'in.agents']);
      expect(named(agents, 'review').map((variant) => variant.last_run_timestamp)).toEqual([
        null,
        '2026-02-01T00:00:00.000Z',
      ]);
      expect((await list(fixture.member, '?sort_by=name&repo=acme/tools'))[0]?.name).toBe('in.agents');
    } finally {
      reported.mockRestore();
    }
  });

  it('reads the default branch, or the ref of a repository URL', async () => {
    const both = new GitFixture(join(github, 'acme/refs'));
    both.commit({ '.agents/skills/a/SKILL.md': skill('on-main') });
    both.git('checkout', '--quiet', '-b', 'dev');
    both.commit({ '.agents/skills/a/SKILL.md': skill('on-dev') });
    both.git('checkout', '--quiet', 'main');
    const owner = await api.identities.user({});
    const url = join(github, 'acme/refs');
    await environment(owner, { name: 'D', git_repos: [{ url, ref: 'dev' }] }, { team: false });
    expect(variantsOf(await list(owner), 'acme/refs')).toMatchObject([{ description: 'Does on-dev.' }]);
    await environment(owner, { name: 'M', git_repos: [{ url }] }, { team: false });
    const variants = variantsOf(await list(owner), 'acme/refs');
    expect(variants.map(({ description, environments }) => [description, environments[0]?.name])).toEqual([
      ['Does on-dev.', 'D'],
      ['Does on-main.', 'M'],
    ]);
  });
});

describe('a run that waits for a repository with skills', () => {
  it.each([
    [
      'token is revoked',
      '/agent/runs',
      async (user: TestPrincipal, tokenUid: string) => {
        await api.request(204, `DELETE /tokens/${tokenUid}`, { token: user.token });
      },
    ],
    [
      'member is removed',
      '/agent/runs/external',
      async ({ uid }: TestPrincipal) => {
        await api.request(204, `DELETE /members/${uid}`, { token: fixture.owner.token });
      },
    ],
  ])('is not created when the %s meanwhile', async (what, path, end) => {
    const name = what.split(' ')[0] ?? '';
    const repository = new GitFixture(join(github, `acme/${name}.git`));
    repository.commit({ '.agents/skills/one/SKILL.md': skill('one') });
    const environmentUid = await environment(
      fixture.admin,
      { github_repos: [{ owner: 'acme', repo: name }] },
      { team: true },
    );
    const user = await api.identities.user({ [fixture.team]: 'member' });
    const { token, uid } = (await api.request(201, 'POST /tokens', { token: user.token, body: { name } })).body;
    let release = (): void => undefined;
    held = new Promise((resolve) => (release = resolve));
    const began = performance.now();
    const body = { prompt: 'Go.', team: true, skill: `acme/${name}:one`, config: { environment_id: environmentUid } };
    const created = api.request(403, `POST ${path}`, { token, body });
    await expect.poll(() => started).toContain(`acme/${name}`);
    await end(user, uid);
    await until(() => performance.now() - began > TOKEN_CACHE_MS);
    release();
    held = undefined;
    expect((await created).body.detail).toBe('Your access has ended.');
  });
});

describe('the cache of skills', () => {
  it('reads a repository once for concurrent callers, and again on request', async () => {
    const repository = new GitFixture(join(github, 'acme/counted.git'));
    repository.commit({ '.agents/skills/one/SKILL.md': skill('one') });
    const readings = (): number => started.filter((place) => place === 'acme/counted').length;
    const ask = (query = ''): Promise<Agent[]> => list(fixture.member, `?repo=acme/counted${query}`);

    let release = (): void => undefined;
    held = new Promise((resolve) => (release = resolve));
    const first = [ask(), ask(), ask(), ask('&refresh=true')];
    await expect.poll(readings).toBe(1);
    release();
    held = undefined;
    for (const agents of await Promise.all(first)) expect(agents.map(({ name }) => name)).toEqual(['one']);
    // The refresh came first, or while the first one was under way.
    expect(readings()).toBeLessThanOrEqual(2);

    const before = readings();
    repository.commit({ '.agents/skills/two/SKILL.md': skill('two') });
    expect((await ask()).map(({ name }) => name)).toEqual(['one']);
    expect(readings()).toBe(before);
    const refreshed = await Promise.all(Array.from({ length: 10 }, () => ask('&refresh=true')));
    for (const agents of refreshed) expect(agents.map(({ name }) => name)).toEqual(['one', 'two']);
    expect(readings() - before).toBeLessThanOrEqual(2);
  });

  it('fetches again after SKILLS_CACHE_TTL, and keeps its content while that fails', async () => {
    const server = await GitServer.start({ root: github });
    const repository = new GitFixture(join(root, 'work'));
    repository.commit({ '.agents/skills/old/SKILL.md': skill('old') });
    const bare = join(github, 'acme/aging.git');
    repository.publish(bare);
    const owner = await api.identities.user({});
    const { url } = server;
    await environment(owner, { git_repos: [{ url: `${url}/acme/aging.git` }] }, { team: false });
    const names = async (): Promise<string[]> =>
      variantsOf(await list(owner), 'acme/aging').map(({ description }) => description);
    expect(await names()).toEqual(['Does old.']);
    repository.commit({ '.agents/skills/new/SKILL.md': skill('new') });
    repository.git('push', '--quiet', bare, 'main');
    expect(await names()).toEqual(['Does old.']);
    await api.advanceClock(api.settings.skillsCacheTtl + 1000);
    expect(await names()).toEqual(['Does new.', 'Does old.']);
    await server.stop();
    await api.advanceClock(api.settings.skillsCacheTtl + 1000);
    expect(await names()).toEqual(['Does new.', 'Does old.']);
    // Nothing is known of a repository of the same server that was never read.
    const { token } = owner;
    await environment(owner, { git_repos: [{ url: `${url}/acme/never.git` }] }, { team: false });
    const { body } = await api.request(503, 'GET /agent?repo=acme/never', { token });
    expect(body).toMatchObject({ error_code: 'resource_unavailable', retryable: true });
    expect(body.detail).toBe('The repository cannot be reached now.');
  });

  it.runIf(isLong)('lists 2,000 skills in less than a second', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 2000 }, (_, index) => [
        `${DIRECTORIES[index % 10] ?? ''}/skills/skill-${index}/SKILL.md`,
        skill(`skill-${index}`, `Number ${index}.`, 'Step by step. '.repeat(150)),
      ]),
    );
    new GitFixture(join(github, 'acme/many.git')).commit(many);
    const owner = await api.identities.user({});
    await environment(owner, { github_repos: [{ owner: 'acme', repo: 'many' }] }, { team: false });
    expect(variantsOf(await list(owner), 'acme/many')).toHaveLength(2000);
    const before = performance.now();
    const agents = await list(owner);
    const took = performance.now() - before;
    expect(variantsOf(agents, 'acme/many')).toHaveLength(2000);
    expect(took).toBeLessThan(1000);
  });
});

describe('authorization', () => {
  it('lists a repository only with an environment that the caller may use', async () => {
    new GitFixture(join(github, 'private/mine')).commit({ '.agents/skills/x/SKILL.md': skill('mine-only') });
    const uid = await environment(
      fixture.viewer,
      { git_repos: [{ url: join(github, 'private/mine') }] },
      { team: false },
    );
    expect(named(await list(fixture.viewer), 'mine-only')[0]?.environments.map((place) => place.uid)).toEqual([uid]);
    for (const other of [fixture.member, fixture.owner, fixture.stranger, fixture.bot, nobody])
      expect(named(await list(other), 'mine-only')).toEqual([]);
  });

  it('lists it for guests while it is shared with them', async () => {
    new GitFixture(join(github, 'private/shared')).commit({ '.agents/skills/x/SKILL.md': skill('shared-one') });
    const uid = await environment(
      fixture.viewer,
      { git_repos: [{ url: join(github, 'private/shared') }] },
      { team: false },
    );
    const { token } = fixture.viewer;
    const grants = `/environments/${uid}/grants`;
    const body = { user_uid: nobody.uid };
    const grant = (await api.request(201, `POST ${grants}`, { token, body })).body.uid;
    expect(named(await list(nobody), 'shared-one')[0]?.environments.map((place) => place.uid)).toEqual([uid]);
    expect(named(await list(fixture.stranger), 'shared-one')).toEqual([]);
    await api.request(204, `DELETE ${grants}/${grant}`, { token });
    expect(named(await list(nobody), 'shared-one')).toEqual([]);
  });

  it('uses a secret of the team only for its members, and not for viewers', async () => {
    const server = await GitServer.start({
      root: github,
      login: { username: 'x-access-token', password: 'swordfish-for-git' },
    });
    try {
      const repository = new GitFixture(join(root, 'sealed'));
      repository.commit({ '.agents/skills/x/SKILL.md': skill('sealed') });
      repository.publish(join(github, 'private/sealed.git'));
      const { token } = fixture.adminOfBoth;
      const ours = inTeam(fixture.team);
      const theirs = inTeam(fixture.otherTeam);
      const value = { value: 'swordfish-for-git' };
      await api.request(200, 'PUT /secrets/git-token', { token, headers: ours, body: value });
      const git_repos = [{ url: `${server.url}/private/sealed.git`, secret_name: 'git-token' }];
      await api.request(201, 'POST /environments', { token, headers: ours, body: { config: { git_repos } } });
      expect(named(await list(fixture.adminOfBoth, '', ours), 'sealed')).toHaveLength(1);
      expect(named(await list(fixture.adminOfBoth, '', theirs), 'sealed')).toEqual([]);
      // Reading it uses the team's credential, which viewers may not; what needs none they see.
      expect(named(await list(fixture.viewer), 'sealed')).toEqual([]);

      // The same URL and the same name of a secret: but of another team, or none.
      const open = [{ url: `${server.url}/private/sealed.git` }];
      await api.request(201, 'POST /environments', { token, headers: theirs, body: { config: { git_repos: open } } });
      expect(named(await list(fixture.stranger), 'sealed')).toEqual([]);
      await api.request(200, 'PUT /secrets/git-token', { token, headers: theirs, body: { value: 'wrong-one' } });
      await api.request(201, 'POST /environments', { token, headers: theirs, body: { config: { git_repos } } });
      expect(named(await list(fixture.stranger, '?refresh=true'), 'sealed')).toEqual([]);
      expect(named(await list(fixture.member), 'sealed')).toHaveLength(1);

      // A value that opens nothing any more hides what it had opened.
      await api.request(200, 'PUT /secrets/git-token', { token, headers: ours, body: { value: 'another-one' } });
      expect(named(await list(fixture.member), 'sealed')).toEqual([]);
      expect(api.log.text).not.toContain('swordfish-for-git');
    } finally {
      await server.stop();
    }
  });
});

describe('with GITHUB_SKILLS_SOURCE=api', () => {
  it('reads GitHub’s repositories by its API, and others with git', async () => {
    const double = await GithubDouble.start('swordfish-for-api');
    double.places.set('acme/tools', { fixture: tools });
    const settings = { githubSkillsSource: 'api', githubApiUrl: double.url, gitLocalRoots: [github] } as const;
    const other = await startTestApi({ settings });
    try {
      const { token } = await other.identities.user({});
      const url = join(github, 'acme/refs');
      const config = { github_repos: [{ owner: 'acme', repo: 'tools' }], git_repos: [{ url }] };
      await other.request(201, 'POST /environments', { token, body: { config, team: false } });
      const { agents } = (await other.request(200, 'GET /agent', { token })).body;
      expect(variantsOf(agents, 'acme/tools')).toHaveLength(13);
      expect(variantsOf(agents, 'acme/refs')).toHaveLength(1);
      const asked = double.asked.length;
      await other.request(200, 'GET /agent', { token });
      expect(double.asked).toHaveLength(asked);
      double.override = { status: 429, body: {} };
      const limited = await other.request(503, 'GET /agent?repo=acme/unknown', { token });
      expect(limited.body.detail).toBe('The rate limit of GitHub’s API is reached.');
    } finally {
      await other.close();
      await double.stop();
    }
  });
});

describe('without GIT_ALLOW_PRIVATE', () => {
  it('does not fetch a repository from a loopback address', async () => {
    const server = await GitServer.start({ root: github });
    const other = await startTestApi({ settings: { gitAllowPrivate: [] } });
    try {
      const { token } = await other.identities.user({});
      const body = { config: { git_repos: [{ url: `${server.url}/acme/tools.git` }] }, team: false };
      await other.request(201, 'POST /environments', { token, body });
      const { text } = await other.request(200, 'GET /agent?refresh=true', { token });
      expect(text).not.toContain('acme');
      expect(server.asked).toEqual([]);
    } finally {
      await other.close();
      await server.stop();
    }
  });
});

describe('a stopping API', () => {
  it('does not wait for a repository that does not respond', async () => {
    const server = await GitServer.start({ root: github });
    server.hold();
    const other = await startTestApi();
    const { token } = await other.identities.user({});
    const body = { config: { git_repos: [{ url: `${server.url}/acme/slow.git` }] }, team: false };
    await other.request(201, 'POST /environments', { token, body });
    const waiting = other.request(503, 'GET /agent?repo=acme/slow', { token });
    await expect.poll(() => server.asked.length).toBeGreaterThan(0);
    const before = performance.now();
    await other.close();
    expect(performance.now() - before).toBeLessThan(10_000);
    expect((await waiting).body.detail).toBe('The server is stopping.');
    await server.stop();
  });
});
