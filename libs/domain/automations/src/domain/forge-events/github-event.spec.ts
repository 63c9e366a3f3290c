import { describe, expect, it } from 'vitest';
import { githubExamples, githubKinds } from '../../../../../../test/support/github-deliveries.js';
import { type ForgeEvent, targetKey, targetName } from './forge-event.js';
import { readGithubEvent } from './github-event.js';

const read = (kind: string, action?: string): (ForgeEvent | null)[] =>
  githubExamples(kind)
    .filter((example) => action === undefined || example.action === action)
    .map((example) => readGithubEvent(kind, example));

const shown = (event: ForgeEvent | null | undefined) =>
  event && { name: event.event, target: targetName('github', event) };

describe('the examples of GitHub', () => {
  it('are events of their kind, and no others are', () => {
    const names = new Set(
      githubKinds().flatMap((kind) => read(kind).map((event) => (event ? `${kind} ${event.event}` : null))),
    );
    expect([...names].filter((name) => name !== null).sort()).toEqual([
      'check_run check_failed',
      'issue_comment issue_commented',
      'issues issue_assigned',
      'issues issue_labeled',
      'issues issue_opened',
      'pull_request pull_request_closed',
      'pull_request pull_request_labeled',
      'pull_request pull_request_opened',
      'pull_request pull_request_updated',
      'pull_request_review pull_request_reviewed',
      'pull_request_review_comment pull_request_review_commented',
      'push branch_pushed',
      'push tag_pushed',
      'release release_published',
    ]);
  });

  it('have the object that they belong to', () => {
    expect(shown(read('issues', 'labeled')[0])).toEqual({ name: 'issue_labeled', target: 'Codertocat/Hello-World#1' });
    const review = read('pull_request_review', 'submitted')[0];
    expect(review).toMatchObject({
      target: { kind: 'pull_request', id: '2', url: 'https://github.com/Codertocat/Hello-World/pull/2' },
      branch: 'master',
      association: 'OWNER',
      sender: { name: 'Codertocat', isBot: false },
      refusal: null,
    });
    const tag = read('push').find((event) => event?.event === 'tag_pushed');
    expect(tag).toMatchObject({ target: { kind: 'tag', id: 'simple-tag' }, tag: 'simple-tag' });
  });

  it('have the files and the author of a push', () => {
    const push = read('push').find((event) => event?.event === 'branch_pushed' && event.paths.length > 0);
    expect(push?.paths.every((path) => typeof path === 'string')).toBe(true);
    expect(push?.commitEmail).toMatch(/@/);
  });

  it('never fail, whatever is missing', () => {
    for (const kind of githubKinds())
      for (const example of githubExamples(kind))
        for (const key of Object.keys(example))
          for (const value of [null, 1, 'text', [], {}, [{}]])
            expect(() => readGithubEvent(kind, { ...example, [key]: value })).not.toThrow();
    for (const payload of [null, 1, 'text', [], [{}], {}]) expect(readGithubEvent('issues', payload)).toBeNull();
  });
});

it('reads a comment on a pull request, which GitHub sends as a comment on an issue', () => {
  const [example] = githubExamples('issue_comment').filter(({ action }) => action === 'created');
  const issue = { ...(example?.issue as object), pull_request: { url: 'https://api.github.com/pulls/1' } };
  const event = readGithubEvent('issue_comment', { ...example, issue });
  expect(event).toMatchObject({ event: 'pull_request_commented', target: { kind: 'pull_request' } });
});

it('reads the failure of a workflow, for its pull request when it has one, and whether it is of a fork', () => {
  const [example] = githubExamples('workflow_run').filter(({ action }) => action === 'completed');
  const failed = (changes: object) =>
    readGithubEvent('workflow_run', {
      ...example,
      workflow_run: {
        ...(example?.workflow_run as object),
        head_repository: example?.repository,
        event: 'push',
        conclusion: 'failure',
        ...changes,
      },
    });
  expect(failed({ pull_requests: [] })).toMatchObject({ event: 'workflow_failed', target: { kind: 'branch' } });
  expect(failed({ pull_requests: [{ number: 7 }] })).toMatchObject({
    target: { kind: 'pull_request', id: '7', url: 'https://github.com/Codertocat/Hello-World/pull/7' },
    refusal: null,
  });
  expect(failed({ head_repository: { id: 1 } })?.refusal).toContain('fork');
  expect(failed({ head_repository: null })?.refusal).toContain('fork');
  expect(failed({ event: 'issue_comment' })?.refusal).toContain('"issue_comment"');
  expect(failed({ conclusion: 'success' })).toBeNull();
});

it('ignores addresses that are not on the web', () => {
  const [example] = githubExamples('issues').filter(({ action }) => action === 'labeled');
  const issue = { ...(example?.issue as object), html_url: 'javascript:alert(1)' };
  expect(readGithubEvent('issues', { ...example, issue })?.target.url).toBeNull();
});

describe('the rights of the sender', () => {
  const AUTHOR = { login: 'author', id: 1 };
  const OTHER = { login: 'other', id: 2 };
  const OWN = { id: 7, full_name: 'acme/service', html_url: 'https://github.com/acme/service' };
  const FORK = { id: 8 };
  const issue = { number: 1, user: AUTHOR, author_association: 'NONE', body: 'Text.' };
  const pullRequest = (head: object | null) => ({ ...issue, head: { repo: head }, base: { ref: 'main' } });
  const comment = { author_association: 'CONTRIBUTOR', body: 'Text.' };
  const from = (kind: string, action: string, sender: object, fields: object) =>
    readGithubEvent(kind, { action, sender, repository: OWN, issue, ...fields })?.association;

  it.each([
    ['issues', 'opened', AUTHOR, {}, 'NONE'],
    ['issues', 'reopened', OTHER, {}, null],
    ['issues', 'labeled', AUTHOR, { label: { name: 'agent' } }, 'NONE'],
    ['issues', 'labeled', OTHER, { label: { name: 'agent' } }, null],
    ['issues', 'assigned', AUTHOR, {}, 'NONE'],
    ['issue_comment', 'created', OTHER, { comment }, 'CONTRIBUTOR'],
    ['issue_comment', 'created', OTHER, { comment: {} }, 'UNKNOWN'],
    ['pull_request', 'opened', AUTHOR, { pull_request: pullRequest(FORK) }, 'NONE'],
    ['pull_request', 'labeled', AUTHOR, { pull_request: pullRequest(FORK) }, 'NONE'],
    ['pull_request', 'labeled', OTHER, { pull_request: pullRequest(FORK) }, null],
    ['pull_request', 'closed', AUTHOR, { pull_request: pullRequest(FORK) }, 'NONE'],
    ['pull_request', 'closed', OTHER, { pull_request: pullRequest(FORK) }, 'UNKNOWN'],
    ['pull_request', 'closed', OTHER, { pull_request: pullRequest(OWN) }, null],
    ['pull_request', 'closed', AUTHOR, { pull_request: pullRequest(OWN) }, 'NONE'],
    ['pull_request', 'closed', AUTHOR, { pull_request: { ...pullRequest(FORK), merged: true } }, null],
    ['pull_request', 'synchronize', OTHER, { pull_request: pullRequest(OWN) }, null],
    ['pull_request', 'synchronize', AUTHOR, { pull_request: pullRequest(FORK) }, 'NONE'],
    ['pull_request', 'synchronize', OTHER, { pull_request: pullRequest(FORK) }, 'UNKNOWN'],
    ['pull_request', 'synchronize', OTHER, { pull_request: pullRequest(null) }, 'UNKNOWN'],
    ['pull_request_review', 'submitted', OTHER, { pull_request: pullRequest(FORK), review: comment }, 'CONTRIBUTOR'],
  ])('of %s.%s by %j with %j: %s', (kind, action, sender, fields, expected) => {
    expect(from(kind, action, sender, fields)).toBe(expected);
  });
});

it('knows text of a run only in what the event is about', () => {
  const body = 'Fix.\n<!-- headrace -->';
  const pull_request = { number: 1, user: { login: 'agent' }, body, head: { repo: { id: 7 } }, base: { ref: 'main' } };
  const read = (action: string) =>
    readGithubEvent('pull_request', {
      action,
      pull_request,
      sender: { login: 'ada' },
      repository: { id: 7, full_name: 'acme/service' },
      label: { name: 'agent' },
    });
  expect(read('opened')?.isOfRun).toBe(true);
  for (const action of ['reopened', 'labeled', 'closed', 'synchronize'])
    expect(read(action)).toMatchObject({ isOfRun: false });
});

it('refuses a check of a workflow, which does not say who has started it', () => {
  const [example] = githubExamples('check_run').filter(({ action }) => action === 'completed');
  const failed = (changes: object) =>
    readGithubEvent('check_run', {
      ...example,
      check_run: { ...(example?.check_run as object), conclusion: 'failure', pull_requests: [], ...changes },
    });
  expect(failed({ app: { slug: 'other' } })?.refusal).toBeNull();
  expect(failed({ app: { slug: 'github-actions' } })?.refusal).toContain('workflow_failed');
});

it('has a key for each object of each server', () => {
  const [event] = read('issues', 'labeled');
  if (!event) throw new Error('There is no example.');
  const changes: Partial<ForgeEvent>[] = [
    {},
    { host: 'github.example.com' },
    { repository: 'other/service' },
    { target: { ...event.target, kind: 'pull_request' } },
    { target: { ...event.target, kind: 'branch' } },
    { target: { ...event.target, kind: 'tag' } },
    { target: { ...event.target, id: 'x'.repeat(500) } },
  ];
  const keys = changes.map((change) => targetKey('github', { ...event, ...change }));
  expect(new Set(keys).size).toBe(changes.length);
  expect(keys.every((key) => key.length <= 400)).toBe(true);
  expect(targetKey('github', { ...event, repository: event.repository.toUpperCase() })).toBe(keys[0]);
});

it('reads no failure of the check of a run', () => {
  const [example] = githubExamples('check_run').filter(({ action }) => action === 'completed');
  const failed = (name: string) => ({
    ...example,
    check_run: { ...(example?.check_run as object), name, conclusion: 'failure' },
  });
  expect(readGithubEvent('check_run', failed('test'))).toMatchObject({ event: 'check_failed' });
  expect(readGithubEvent('check_run', failed('headrace: fix'))).toBeNull();
});
