import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SystemClock } from '#platform/kernel';
import { ForgeConnections } from '../../libs/domain/answers/src/adapters/forge-connection.js';
import { GITLAB_HEADERS, GitlabAnswers } from '../../libs/domain/answers/src/adapters/gitlab-answers.js';
import { Gitlab } from '../../libs/execution/runner/src/forges/gitlab.js';
import { DESCRIPTION_FILE, GitlabApiDouble } from '../support/gitlab-api.js';

const TOKEN = 'token-of-a-project';
const PROJECT = 'acme/app';
const SHA = 'ce587453ced02b1526dfb4cb910479d431683101';

/** Needs GITLAB_OPENAPI, the path of doc/api/openapi/openapi_v3.yaml of gitlab.com/gitlab-org/gitlab: its licence keeps it out of here. */
describe.skipIf(DESCRIPTION_FILE === undefined)("GitLab's description of its API", () => {
  let gitlab: GitlabApiDouble;
  const { signal } = new AbortController();
  beforeAll(async () => {
    gitlab = await GitlabApiDouble.start(TOKEN, PROJECT);
  }, 60_000);
  afterAll(() => gitlab.stop());

  const answersAt = (kind: 'issue' | 'pull_request', number: string): GitlabAnswers => {
    const address = { name: 'GitLab', apiUrl: `${gitlab.url}/api/v4`, token: TOKEN, headers: GITLAB_HEADERS };
    const connection = new ForgeConnections(new SystemClock()).open(address, signal);
    return new GitlabAnswers(connection, { repository: PROJECT, kind, number }, 'https://runs.example.com');
  };

  it('has what a runner sends to create merge requests, and what the server of the tests answers', async () => {
    const client = new Gitlab(`${gitlab.url}/api/v4`, PROJECT, TOKEN);
    expect(await client.defaultBranch(signal)).toBe('main');
    const request = { title: 'Fix', body: 'Why', branch: 'fix', base: 'main', draft: true };
    expect(await client.create(request, signal)).toMatchObject({ status: 'draft' });
    expect(await client.create(request, signal)).toBeInstanceOf(Error);
    expect(await client.findOpen('fix', 'main', signal)).toMatchObject({ status: 'draft' });
    expect(gitlab.violations).toEqual([]);
  });

  it('has what answers send, and what the server of the tests answers', async () => {
    for (const [kind, number] of [
      ['issue', '7'],
      ['pull_request', '1'],
    ] as const) {
      const answers = answersAt(kind, number);
      const id = await answers.createComment('A run');
      expect(await answers.updateComment(id, 'The run')).toBe(true);
      expect(await answers.updateComment('1', 'Another one')).toBe(false);
      expect(await answers.findComment('run', 'mark', new Date(0))).toBeNull();
      for (const subject of ['target', 'target', `comment/${id}`] as const) await answers.react(subject);
    }
    const merge = answersAt('pull_request', '1');
    expect(await merge.headOf('1')).toBe(SHA);
    for (const state of ['queued', 'in_progress', 'success', 'success'] as const)
      await merge.writeCheck('run', SHA, null, {
        name: 'headrace',
        state,
        url: 'https://runs.example.com/runs/1',
        title: 'A run',
        summary: '',
      });
    expect(gitlab.violations).toEqual([]);
  });

  it('was compared with every operation that the service uses', () => {
    const at = '/api/v4/projects/{}';
    const of = (kind: string) => [
      `GET ${at}/${kind}/{}/notes`,
      `POST ${at}/${kind}/{}/notes`,
      `PUT ${at}/${kind}/{}/notes/{}`,
      `POST ${at}/${kind}/{}/award_emoji`,
      `POST ${at}/${kind}/{}/notes/{}/award_emoji`,
    ];
    const expected = [
      `GET ${at}`,
      `POST ${at}/merge_requests`,
      `GET ${at}/merge_requests`,
      `GET ${at}/merge_requests/{}`,
      `POST ${at}/statuses/{}`,
      ...of('issues'),
      ...of('merge_requests'),
    ];
    // The names of variables differ between versions of the description.
    const checked = [...(gitlab.description?.checked ?? [])].map((one) => one.replaceAll(/\{\w+\}/g, '{}'));
    expect(checked.sort()).toEqual(expected.sort());
  });
});
