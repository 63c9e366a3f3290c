import { describe, expect, it } from 'vitest';
import { githubExamples, githubKinds } from '../../../../../../test/support/github-deliveries.js';
import { type ForgeEvent, targetKey } from './forge-event.js';
import { readGithubEvent } from './github-event.js';

const read = (kind: string, action?: string): (ForgeEvent | null)[] =>
  githubExamples(kind)
    .filter((example) => action === undefined || example.action === action)
    .map((example) => readGithubEvent(kind, example));

const shown = (event: ForgeEvent | null | undefined) => event && { name: event.event, target: targetKey(event) };

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
      authorAssociation: 'OWNER',
      sender: { name: 'Codertocat', isBot: false },
      isFork: false,
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
        conclusion: 'failure',
        ...changes,
      },
    });
  expect(failed({ pull_requests: [] })).toMatchObject({ event: 'workflow_failed', target: { kind: 'branch' } });
  expect(failed({ pull_requests: [{ number: 7 }] })).toMatchObject({
    target: { kind: 'pull_request', id: '7', url: 'https://github.com/Codertocat/Hello-World/pull/7' },
    isFork: false,
  });
  expect(failed({ head_repository: { id: 1 } })?.isFork).toBe(true);
  expect(failed({ conclusion: 'success' })).toBeNull();
});

it('ignores addresses that are not on the web', () => {
  const [example] = githubExamples('issues').filter(({ action }) => action === 'labeled');
  const issue = { ...(example?.issue as object), html_url: 'javascript:alert(1)' };
  expect(readGithubEvent('issues', { ...example, issue })?.target.url).toBeNull();
});
