import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CONFORMANCE_FILES, GitFixture, GithubDouble, skillSourceConformance } from '#testing';
import { GithubSkillSource } from './github-skill-source.js';

const TOKEN = 'swordfish-for-github';
const root = mkdtempSync(join(tmpdir(), 'headrace-github-'));
const signal = new AbortController().signal;
const at = (owner: string, name: string) => ({
  owner,
  name,
  url: `https://github.com/${owner}/${name}.git`,
  isGithub: true,
});
const withToken = { identity: 'a', open: () => Promise.resolve({ password: TOKEN }) };
let github: GithubDouble;
let source: GithubSkillSource;

beforeAll(async () => {
  github = await GithubDouble.start(TOKEN);
  source = new GithubSkillSource({ origin: github.url });
  const fixture = new GitFixture(join(root, 'full'));
  fixture.commit(CONFORMANCE_FILES);
  github.places.set('acme/full', { fixture });
  github.places.set('acme/closed', { fixture, private: true });
  github.places.set('acme/large', { fixture, truncates: true });
  github.places.set('acme/empty', { fixture: new GitFixture(join(root, 'empty')) });
});
beforeEach(() => {
  github.override = null;
  github.asked.length = 0;
});
afterAll(async () => {
  await github.stop();
  rmSync(root, { recursive: true, force: true });
});

const read = (name = 'full', known: readonly string[] = []) => source.read(at('acme', name), new Set(known), signal);

describe('GithubSkillSource', () => {
  skillSourceConformance(() => ({
    source,
    full: at('acme', 'full'),
    empty: at('acme', 'empty'),
    missing: at('acme', 'none'),
    closed: at('acme', 'closed'),
  }));

  it('reads a private repository by the environment’s secret, and never by the token of the installation', async () => {
    const ours = new GithubSkillSource({ origin: github.url, token: TOKEN });
    const closed = at('acme', 'closed');
    expect(await ours.read(closed, new Set(), signal)).toMatchObject({ kind: 'unreadable', retryable: false });
    expect(await source.read({ ...closed, credential: withToken }, new Set(), signal)).toMatchObject({ kind: 'read' });
    expect(await ours.read(at('acme', 'full'), new Set(), signal)).toMatchObject({ kind: 'read' });
    expect(github.asked.every(({ authorization }) => authorization === `Bearer ${TOKEN}`)).toBe(true);
  });

  it('reads each content once', async () => {
    await read();
    const blobs = github.asked.filter(({ path }) => path.includes('/git/blobs/'));
    expect(blobs).toHaveLength(7);
    expect(new Set(blobs.map(({ path }) => path)).size).toBe(7);
  });

  it('reads the directories of skills where a tree is too large for one answer', async () => {
    const reading = await read('large');
    expect(reading.kind === 'read' && reading.files.map(({ path }) => path)).toEqual([
      '.agents/skills/a/SKILL.md',
      '.agents/skills/b/SKILL.md',
      '.claude/skills/bytes/SKILL.md',
      '.claude/skills/empty/SKILL.md',
      '.claude/skills/limit/SKILL.md',
      '.claude/skills/over/SKILL.md',
      '.opencode/skills/same/SKILL.md',
      '.agents/skills/x/references/deep/SKILL.md',
    ]);
  });

  it.each([
    [
      'its rate limit',
      { status: 403, body: {}, headers: { 'x-ratelimit-remaining': '0' } },
      'The rate limit of GitHub’s API is reached.',
    ],
    ['its other limit', { status: 429, body: {} }, 'The rate limit of GitHub’s API is reached.'],
    ['a fault', { status: 502, body: 'Bad gateway' }, 'GitHub’s API answers with status 502.'],
    ['no JSON', { status: 200, body: '<html>' }, 'GitHub’s API gave an answer that is not JSON.'],
    [
      'something else',
      { status: 200, body: { private: 'no' } },
      'GitHub’s API returned a response with an unexpected shape.',
    ],
  ])('may be asked again after %s', async (_, override, detail) => {
    github.override = override;
    expect(await read()).toEqual({ kind: 'unreadable', detail, retryable: true });
  });

  it.each([401, 403, 404, 451])('takes status %i for a repository that is not there', async (status) => {
    github.override = { status, body: {} };
    expect(await read()).toMatchObject({ kind: 'unreadable', retryable: false });
  });

  it('follows a repository to its new name, and the token goes nowhere else', async () => {
    github.override = (path) =>
      path.startsWith('/repos/acme/old')
        ? { status: 301, body: {}, headers: { location: path.replace('/old', '/full') } }
        : null;
    const renamed = await source.read({ ...at('acme', 'old'), credential: withToken }, new Set(), signal);
    expect(renamed.kind === 'read' && renamed.files).toHaveLength(9);

    const thief = await GithubDouble.start('x');
    github.override = { status: 302, body: {}, headers: { location: `${thief.url}/repos/acme/full` } };
    const reading = await source.read({ ...at('acme', 'full'), credential: withToken }, new Set(), signal);
    expect(reading).toEqual({ kind: 'unreadable', detail: 'The repository has moved.', retryable: false });
    expect(thief.asked).toEqual([]);
    await thief.stop();
  });

  it('reads no answer without end, and no blob that is larger than its tree says', async () => {
    github.override = (path) =>
      path.includes('/git/blobs/')
        ? { status: 200, body: { content: 'x'.repeat(2_000_000), encoding: 'base64' } }
        : null;
    expect(await read()).toMatchObject({ kind: 'unreadable', detail: 'An answer of GitHub’s API is too large.' });
  });

  it('says nothing of the network to callers', async () => {
    const away = new GithubSkillSource({ origin: 'http://127.0.0.1:9' });
    expect(await away.read(at('acme', 'full'), new Set(), signal)).toEqual({
      kind: 'unreadable',
      detail: 'GitHub’s API cannot be reached now.',
      retryable: true,
    });
  });
});
