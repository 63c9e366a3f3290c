import { expect, it } from 'vitest';
import { readPullRequestState } from './pull-request-state.js';

const AT = '2026-11-27T14:00:00Z';
const github = (changes: object) => ({
  pull_request: { html_url: 'https://github.com/a/b/pull/1', state: 'open', draft: false, updated_at: AT, ...changes },
});
const gitlab = (changes: object) => ({
  object_kind: 'merge_request',
  object_attributes: {
    url: 'https://gitlab.com/a/b/-/merge_requests/1',
    state: 'opened',
    updated_at: '2026-11-27 14:00:00 UTC',
    ...changes,
  },
});

it.each([
  ['open', {}],
  ['draft', { draft: true }],
  ['closed', { state: 'closed', merged: false }],
  ['merged', { state: 'closed', merged: true }],
])('of GitHub is %s', (status, changes) => {
  expect(readPullRequestState('github', 'pull_request', github(changes))).toEqual({
    url: 'https://github.com/a/b/pull/1',
    status,
    updatedAt: new Date(AT),
  });
});

it.each([
  ['open', {}],
  ['open', { state: 'locked' }],
  ['draft', { draft: true }],
  ['draft', { work_in_progress: true }],
  ['closed', { state: 'closed' }],
  ['merged', { state: 'merged', updated_at: AT }],
])('of GitLab is %s', (status, changes) => {
  expect(readPullRequestState('gitlab', 'Merge Request Hook', gitlab(changes))).toMatchObject({
    status,
    updatedAt: new Date(AT),
  });
});

it('is unknown without an address, a state or a time, and in other deliveries', () => {
  for (const changes of [{ html_url: 'x' }, { state: 'new' }, { updated_at: 'today' }])
    expect(readPullRequestState('github', 'pull_request', github(changes))).toBeNull();
  expect(readPullRequestState('github', 'issues', github({}))).toBeNull();
  expect(readPullRequestState('gitlab', '', { ...gitlab({}), object_kind: 'note' })).toBeNull();
  expect(readPullRequestState('github', 'pull_request', null)).toBeNull();
});
