import { describe, expect, it } from 'vitest';
import { isCancellableKind, isoDuration, titleFromPrompt } from './run.js';
import { maskConfig, resolveConfig, skillName } from './resolve-config.js';

describe('titleFromPrompt', () => {
  it('is the first line that is not blank, cut by characters', () => {
    expect(titleFromPrompt('\n  Fix the test  \nand more')).toBe('Fix the test');
    expect(titleFromPrompt('```sh\necho hi\n```')).toBe('echo hi');
    expect(titleFromPrompt('é'.repeat(200))).toBe(`${'é'.repeat(119)}…`);
    expect([...titleFromPrompt('😀'.repeat(200))]).toHaveLength(120);
  });
});

describe('isoDuration', () => {
  it.each([
    [0, 'PT0S'],
    [150_000, 'PT2M30S'],
    [3_600_000, 'PT1H'],
    [90_061_000, 'PT25H1M1S'],
    [-5, 'PT0S'],
  ])('%d ms is %s', (milliseconds, text) => {
    expect(isoDuration(milliseconds)).toBe(text);
  });
});

describe('isCancellableKind', () => {
  const hosted = { source: 'API', executionLocation: 'REMOTE', config: {} } as const;

  it('is false for self-hosted, local and GitHub Action runs', () => {
    expect(isCancellableKind(hosted, false)).toBe(true);
    expect(isCancellableKind({ ...hosted, config: { worker_host: 'warp' } }, false)).toBe(true);
    expect(isCancellableKind({ ...hosted, config: { worker_host: 'lab-1' } }, false)).toBe(false);
    expect(isCancellableKind({ ...hosted, config: { worker_host: 'lab-1' } }, true)).toBe(true);
    expect(isCancellableKind({ ...hosted, executionLocation: 'LOCAL' }, true)).toBe(false);
    expect(isCancellableKind({ ...hosted, source: 'GITHUB_ACTION' }, true)).toBe(false);
  });
});

describe('resolveConfig', () => {
  it('lets the request’s skill win and repeats it', () => {
    expect(resolveConfig({ skills: ['a/b:one', 'a/b:two'] }, undefined)).toEqual({
      skill_spec: 'a/b:one',
      skills: ['a/b:one', 'a/b:two'],
    });
    expect(resolveConfig({ skill_spec: 'a/b:one', name: 'mine' }, 'a/b:other')).toMatchObject({
      skill_spec: 'a/b:other',
      name: 'mine',
    });
    expect(resolveConfig({ model_id: 'm' }, undefined)).toEqual({ model_id: 'm' });
  });

  it('names a skill by its directory', () => {
    expect(skillName('owner/repo:.agents/skills/review/SKILL.md')).toBe('review');
    expect(skillName('owner/repo:review')).toBe('review');
  });

  it('masks values of env and headers and keeps their names', () => {
    const masked = maskConfig({
      mcp_servers: { s: { command: 'x', env: { KEY: 'secret-value' }, headers: { Authorization: 'secret-value' } } },
    });
    expect(masked.mcp_servers).toEqual({ s: { command: 'x', env: { KEY: '***' }, headers: { Authorization: '***' } } });
  });
});
