import { describe, expect, it } from 'vitest';
import { readGitlabEvents } from './gitlab-event.js';

const ZEROS = '0'.repeat(40);
const SHA = 'da1560886d4f094c3e6c9ef40349f7d38b5d27d7';
const WEB = 'https://gitlab.example.com/group/sub/app';

/** The fields of GitLab's documented payloads that are read. */
const payload = (kind: string, fields: object) => ({
  object_kind: kind,
  user: { id: 5, username: 'ada' },
  project: { path_with_namespace: 'group/sub/app', web_url: WEB },
  ...fields,
});
const issue = (attributes: object, fields: object = {}) =>
  payload('issue', {
    object_attributes: { iid: 23, url: `${WEB}/-/issues/23`, description: 'It fails.', ...attributes },
    labels: [{ title: 'bug' }],
    ...fields,
  });
const mergeRequest = (attributes: object, fields: object = {}) =>
  payload('merge_request', {
    object_attributes: {
      iid: 7,
      url: `${WEB}/-/merge_requests/7`,
      target_branch: 'main',
      source_project_id: 1,
      target_project_id: 1,
      ...attributes,
    },
    ...fields,
  });
const note = (attributes: object, fields: object) =>
  payload('note', { object_attributes: { note: 'Why?', ...attributes }, ...fields });
const ON_ISSUE = { issue: { iid: 23, url: `${WEB}/-/issues/23` } };
const ON_MERGE_REQUEST = { merge_request: { iid: 7, url: `${WEB}/-/merge_requests/7`, target_branch: 'main' } };
const MERGE_REQUEST = { kind: 'pull_request', id: '7', url: `${WEB}/-/merge_requests/7` };

describe('a payload of GitLab', () => {
  it.each([
    [
      'issue_opened',
      issue({ action: 'open' }),
      { target: { kind: 'issue', id: '23' }, labels: ['bug'], text: 'It fails.' },
    ],
    [
      'issue_labeled',
      issue(
        { action: 'update' },
        { changes: { labels: { previous: [{ title: 'bug' }], current: [{ title: 'bug' }, { title: 'agent' }] } } },
      ),
      { labels: ['agent'] },
    ],
    [
      'issue_assigned',
      issue({ action: 'update' }, { changes: { assignees: { previous: [], current: [{ username: 'ada' }] } } }),
      {},
    ],
    ['issue_commented', note({ noteable_type: 'Issue', action: 'create' }, ON_ISSUE), { text: 'Why?' }],
    ['pull_request_opened', mergeRequest({ action: 'open' }), { target: MERGE_REQUEST, branch: 'main' }],
    [
      'pull_request_opened',
      mergeRequest({ action: 'update' }, { changes: { draft: { previous: true, current: false } } }),
      {},
    ],
    ['pull_request_updated', mergeRequest({ action: 'update', oldrev: SHA }), {}],
    ['pull_request_closed', mergeRequest({ action: 'merge' }), {}],
    ['pull_request_reviewed', mergeRequest({ action: 'approved' }), {}],
    ['pull_request_commented', note({ noteable_type: 'MergeRequest' }, ON_MERGE_REQUEST), { target: MERGE_REQUEST }],
    [
      'pull_request_review_commented',
      note({ noteable_type: 'MergeRequest', type: 'DiffNote' }, ON_MERGE_REQUEST),
      { branch: 'main' },
    ],
    [
      'workflow_failed',
      payload('pipeline', { object_attributes: { status: 'failed', ref: 'main', tag: false } }),
      { target: { kind: 'branch', id: 'main' }, branch: 'main' },
    ],
    [
      'workflow_failed',
      payload('pipeline', { object_attributes: { status: 'failed', ref: 'fix' }, ...ON_MERGE_REQUEST }),
      { target: MERGE_REQUEST },
    ],
    [
      'check_failed',
      payload('build', { build_status: 'failed', ref: 'main', tag: false, build_id: 9 }),
      { target: { kind: 'branch', url: `${WEB}/-/jobs/9` } },
    ],
    [
      'branch_pushed',
      payload('push', {
        ref: 'refs/heads/main',
        after: SHA,
        user: undefined,
        user_username: 'ada',
        commits: [{ added: ['a'], modified: ['b'], removed: [], author: { email: 'ada@example.com' } }],
      }),
      { branch: 'main', paths: ['a', 'b'], commitEmail: 'ada@example.com' },
    ],
    ['tag_pushed', payload('tag_push', { ref: 'refs/tags/v1', before: ZEROS, after: SHA }), { tag: 'v1' }],
    [
      'release_published',
      payload('release', { action: 'create', tag: 'v1', url: `${WEB}/-/releases/v1` }),
      { tag: 'v1' },
    ],
  ])('is %s', (event, given, expected) => {
    expect(readGitlabEvents(given)).toMatchObject([
      {
        event,
        host: 'gitlab.example.com',
        repository: 'group/sub/app',
        sender: { name: 'ada', isBot: false },
        ...expected,
      },
    ]);
  });

  it.each([
    ['an unknown kind', payload('wiki_page', {})],
    ['no project', { ...issue({ action: 'open' }), project: undefined }],
    ['another change of an issue', issue({ action: 'update' })],
    [
      'a removed label',
      issue({ action: 'update' }, { changes: { labels: { previous: [{ title: 'bug' }], current: [] } } }),
    ],
    ['an edited comment', note({ noteable_type: 'Issue', action: 'update' }, ON_ISSUE)],
    ['a comment of GitLab itself', note({ noteable_type: 'Issue', system: true }, ON_ISSUE)],
    ['a comment on a commit', note({ noteable_type: 'Commit' }, {})],
    ['a successful pipeline', payload('pipeline', { object_attributes: { status: 'success', ref: 'main' } })],
    ['a deleted branch', payload('push', { ref: 'refs/heads/main', after: ZEROS })],
    ['a deleted tag', payload('tag_push', { ref: 'refs/tags/v1', before: SHA, after: ZEROS })],
    ['no object', null],
  ])('is no event with %s', (_what, given) => {
    expect(readGitlabEvents(given)).toEqual([]);
  });

  it('of the user of an access token is from a bot', () => {
    const given = { ...issue({ action: 'open' }), user: { username: 'project_12_bot_3fa9' } };
    expect(readGitlabEvents(given)[0]?.sender.isBot).toBe(true);
  });

  it('with several changes is several events', () => {
    const labels = { previous: [], current: [{ title: 'agent' }] };
    const assignees = { previous: [], current: [{ username: 'ada' }] };
    const names = (given: unknown) => readGitlabEvents(given).map(({ event }) => event);
    expect(names(issue({ action: 'update' }, { changes: { labels, assignees } }))).toEqual([
      'issue_labeled',
      'issue_assigned',
    ]);
    const changes = { labels, draft: { previous: true, current: false } };
    expect(names(mergeRequest({ action: 'update', oldrev: SHA }, { changes }))).toEqual([
      'pull_request_updated',
      'pull_request_opened',
      'pull_request_labeled',
    ]);
  });

  it.each([
    ['open', { author_id: 5 }, 'UNKNOWN'],
    ['reopen', { author_id: 6 }, null],
    ['close', { author_id: 5 }, 'UNKNOWN'],
    ['close', { author_id: 6 }, null],
    ['merge', { author_id: 5 }, null],
    ['approved', { author_id: 6 }, null],
    ['approved', { author_id: 5 }, 'UNKNOWN'],
    ['update', { oldrev: SHA }, null],
    ['update', { oldrev: SHA, source_project_id: 2 }, 'UNKNOWN'],
  ])('that says %s, with %j, has the association %s of the sender', (action, attributes, expected) => {
    expect(readGitlabEvents(mergeRequest({ action, ...attributes }))[0]?.association).toBe(expected);
  });

  it('of a pipeline in a fork starts nothing', () => {
    const merge_request = { ...ON_MERGE_REQUEST.merge_request, source_project_id: 2, target_project_id: 1 };
    const given = payload('pipeline', { object_attributes: { status: 'failed', ref: 'fix' }, merge_request });
    expect(readGitlabEvents(given)[0]?.refusal).toContain('fork');
  });
});
