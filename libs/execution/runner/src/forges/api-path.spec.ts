import { describe, expect, it } from 'vitest';
import { hasTexts, isAllowed, readApiPath } from './api-path.js';

describe('the path of a request', () => {
  it.each([
    ['/api/v3/', { kind: 'general', path: '/' }],
    ['/', { kind: 'general', path: '/' }],
    ['/user', { kind: 'general', path: '/user' }],
    ['/graphql', { kind: 'graphql' }],
    ['/api/graphql', { kind: 'graphql' }],
    ['/api/v3/graphql', { kind: 'other', path: '/graphql' }],
    ['/user/repos', { kind: 'other', path: '/user/repos' }],
    ['/repos/acme', { kind: 'other', path: '/repos/acme' }],
    ['/repos/acme%2Fapp/pulls', { kind: 'other', path: '/repos/acme%2Fapp/pulls' }],
    ['/repos/acme/app', { kind: 'repository', name: 'acme/app', rest: [] }],
    [
      '/api/v3/repos/acme/app/git/ref/heads/a%20b',
      { kind: 'repository', name: 'acme/app', rest: ['git', 'ref', 'heads', 'a b'] },
    ],
    ['/repos/acme/app/branches/fix%2Fone', { kind: 'repository', name: 'acme/app', rest: ['branches', 'fix/one'] }],
  ])('on GitHub: %s', (path, expected) => expect(readApiPath('github', path)).toEqual(expected));

  it.each([
    ['/api/v4/user', { kind: 'general', path: '/user' }],
    ['/api/graphql/', { kind: 'graphql' }],
    ['/api/v4/projects', { kind: 'other', path: '/projects' }],
    ['/api/v4/projects/7/issues', { kind: 'repository', name: '7', rest: ['issues'] }],
    ['/api/v4/projects/a%2Fb%2Fc', { kind: 'repository', name: 'a/b/c', rest: [] }],
  ])('on GitLab: %s', (path, expected) => expect(readApiPath('gitlab', path)).toEqual(expected));

  it.each([
    'http://api.github.com/repos/acme/app',
    '//repos/acme/app',
    '/repos//acme/app',
    '/repos/acme/app/../lib',
    '/repos/acme/app/./pulls',
    '/repos/acme/app/%2e%2E/lib',
    '/repos/acme/app/pulls%2f..%2f..%2flib',
    '/repos/acme/app/%2Fpulls',
    '/repos/acme/app/%252e%252e/lib',
    '/repos/acme/app/..%5clib',
    '/repos/acme/app/a%00b',
    '/repos/acme/app/%zz',
    '/repos/acme/app//',
  ])('is refused: %s', (path) => expect(readApiPath('github', path)).toBeNull());
});

describe('a request about a repository', () => {
  it.each([
    ['github', 'GET', ''],
    ['github', 'GET', 'hooks'],
    ['github', 'POST', 'pulls'],
    ['github', 'PUT', 'pulls/7/merge'],
    ['github', 'PUT', 'contents/docs/readme.md'],
    ['github', 'POST', 'actions/runs/5/rerun'],
    ['gitlab', 'GET', ''],
    ['gitlab', 'GET', 'pipelines/5/jobs'],
    ['gitlab', 'PUT', 'merge_requests/7/merge'],
    ['gitlab', 'POST', 'pipeline'],
    ['gitlab', 'POST', 'jobs/5/retry'],
  ] as const)('is allowed on %s: %s %s', (type, method, rest) =>
    expect(isAllowed(type, method, rest.split('/'))).toBe(true),
  );

  it.each([
    ['github', 'DELETE', ''],
    ['github', 'POST', 'hooks'],
    ['github', 'POST', 'pullsx'],
    ['github', 'PUT', 'actions/secrets/KEY'],
    ['github', 'PUT', 'actions/runs/5/rerun/x'],
    ['github', 'POST', 'check-runs'],
    ['gitlab', 'GET', 'variables'],
    ['gitlab', 'GET', 'pipelines/5/variables'],
    ['gitlab', 'DELETE', ''],
    ['gitlab', 'PUT', ''],
    ['gitlab', 'DELETE', 'pipelines/5'],
    ['gitlab', 'POST', 'jobs/5/erase'],
    ['gitlab', 'POST', 'access_tokens'],
    ['gitlab', 'POST', 'statuses/0123456'],
  ] as const)('is refused on %s: %s %s', (type, method, rest) =>
    expect(isAllowed(type, method, rest.split('/'))).toBe(false),
  );
});

describe('texts that people read', () => {
  it.each([
    ['issues', true],
    ['issues/1/comments', true],
    ['pulls/1/reviews', true],
    ['merge_requests/1/notes', true],
    ['comments/5', true],
    ['commits/0123456/comments', true],
    ['repository/commits/0123456/comments', true],
    ['repository/commits/0123456/discussions/5/notes', true],
    ['repository/commits/feature/x/comments', true],
    ['repository/commits/feature/x/discussions/1/notes', true],
    ['repository/commits/0123456/comments.json', true],
    ['repository/commits/x\u2028y/comments', true],
    ['repository/commits', false],
    ['repository/commits/0123456/commentsx', false],
    ['contents/comments/readme.md', false],
    ['issuesx', false],
    ['milestones', false],
  ])('are in requests for %s: %s', (rest, expected) => expect(hasTexts(rest.split('/'))).toBe(expected));
});
