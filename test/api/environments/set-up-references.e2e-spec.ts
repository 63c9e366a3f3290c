import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi, type TestPrincipal, TestRunner } from '#testing';

const VALUE = 'a-value-that-only-runners-see';
const URL = 'https://git.example.test/a.git';

const AUTHORS = { gitAuthorName: 'Agents', gitAuthorEmail: 'agents@example.test', gitCoAuthor: false };

let api: TestApi;
let root: string;
let admin: TestPrincipal;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'headrace-references-'));
  mkdirSync(join(root, 'local', 'inside'), { recursive: true });
  mkdirSync(join(root, 'elsewhere'));
  symlinkSync(join(root, 'elsewhere'), join(root, 'local', 'link'));
  api = await startTestApi({
    settings: { gitLocalRoots: [join(root, 'local')], githubUrl: 'https://github.example.test', ...AUTHORS },
  });
  admin = await api.identities.user({ [await api.identities.team()]: 'admin' });
  for (const name of ['DEPLOY_TOKEN', 'npm-token', 'npm.token', '1st', 'HOME']) await put(name, VALUE);
});
afterAll(async () => {
  await api.close();
  rmSync(root, { recursive: true, force: true });
});

const put = (name: string, value: string) =>
  api.request(200, `PUT /secrets/${name}`, { token: admin.token, body: { value } });
const refused = async (status: number, config: object, team = true): Promise<[string, string][]> => {
  const { body } = await api.request(status, 'POST /environments', { token: admin.token, body: { config, team } });
  return body.errors.map(({ pointer, detail }: { pointer: string; detail: string }) => [pointer, detail]);
};

describe('repositories', () => {
  it.each([
    [{ url: '--upload-pack=x' }, 'url'],
    [{ url: 'ext::sh -c x' }, 'url'],
    [{ url: 'https://user:password@git.example.test/a.git' }, 'url'],
    [{ url: 'ssh://-oProxyCommand=x/a' }, 'url'],
    [{ url: '/etc' }, 'url'],
    [{ url: 'file:///etc' }, 'url'],
    [{ url: URL, ref: '--upload-pack=x' }, 'ref'],
    [{ url: URL, ref: 'a..b' }, 'ref'],
    [{ url: 'git://git.example.test/a.git', secret_name: 'DEPLOY_TOKEN' }, 'secret_name'],
  ])('400: %j', async (repository, field) => {
    const errors = await refused(400, { git_repos: [{ url: URL }, repository] });
    expect(errors).toEqual([[`/config/git_repos/1/${field}`, expect.any(String)]]);
    expect(JSON.stringify(errors)).not.toContain('password@');
  });

  it('reject a local path outside of the roots with 400, and accept one below them', async () => {
    const at = (path: string) => ({ git_repos: [{ url: join(root, path) }] });
    for (const path of ['elsewhere', 'local/link', 'local/../elsewhere', 'localised'])
      expect(await refused(400, { git_repos: [{ url: `${root}/${path}` }] })).toHaveLength(1);
    for (const path of ['local/inside', 'local/not-there-yet'])
      await api.request(201, 'POST /environments', { token: admin.token, body: { config: at(path) } });
  });
});

describe('managed secrets', () => {
  it('that the team does not have are rejected with 403', async () => {
    const errors = await refused(403, {
      secrets: [{ name: 'DEPLOY_TOKEN' }, { name: 'unknown' }],
      git_repos: [{ url: URL, secret_name: 'unknown' }],
      github_repos: [{ owner: 'acme', repo: 'service', secret_name: 'unknown' }],
    });
    const pointers = ['secrets/1/name', 'github_repos/0/secret_name', 'git_repos/0/secret_name'];
    expect(errors).toEqual(
      pointers.map((pointer) => [
        `/config/${pointer}`,
        'names a managed secret that was not found or is not accessible',
      ]),
    );
  });

  it('in a personal environment are rejected with 400', async () => {
    const errors = await refused(400, { secrets: [{ name: 'DEPLOY_TOKEN' }] }, false);
    expect(errors).toEqual([
      ['/config/secrets/0/name', expect.stringContaining('a personal environment has no managed secrets')],
    ]);
  });

  it.each([
    [{ secrets: [{ name: 'DEPLOY_TOKEN' }], env: { DEPLOY_TOKEN: 'x' } }, 0],
    [{ secrets: [{ name: 'npm-token' }, { name: 'npm.token' }] }, 1],
    [{ secrets: [{ name: 'HOME' }] }, 0],
  ])('with a variable that is in use are rejected with 400: %j', async (config, index) => {
    expect(await refused(400, config)).toEqual([
      [`/config/secrets/${index}/name`, expect.stringContaining('variable')],
    ]);
  });

  it.each(['HOME', 'TMPDIR', 'HEADRACE_RUN_ID'])(
    'with the reserved variable %s are rejected with 400',
    async (name) => {
      expect(await refused(400, { env: { [name]: '/tmp', OTHER: 'x' } })).toEqual([
        [`/config/env/${name}`, expect.stringContaining('Headrace sets itself')],
      ]);
    },
  );

  it('are checked in an update too', async () => {
    const { token } = admin;
    const { body } = await api.request(201, 'POST /environments', { token, body: { config: {} } });
    const change = (status: number, config: object) =>
      api.request(status, `PUT /environments/${body.uid}`, { token, body: { config } });
    await change(403, { secrets: [{ name: 'unknown' }] });
    await change(400, { git_repos: [{ url: '/etc' }] });
    await change(200, { secrets: [{ name: 'DEPLOY_TOKEN' }] });
  });

  it.each([
    [{}, 'needs `secret_name`'],
    [{ secret_name: 'DEPLOY_TOKEN', username: 'me' }, 'must not be given with `username`'],
  ])('with a GitHub App are rejected with 400: %j', async (login, detail) => {
    const repository = { owner: 'acme', repo: 'service', github_app_id: 1, ...login };
    expect(await refused(400, { github_repos: [repository] })).toEqual([
      ['/config/github_repos/0/github_app_id', expect.stringContaining(detail)],
    ]);
  });

  it('with access to an API need a secret, and a known kind of access', async () => {
    const repository = { owner: 'acme', repo: 'service', api_access: 'token' };
    expect(
      await refused(400, { github_repos: [repository], git_repos: [{ url: URL, api_access: 'repository' }] }),
    ).toEqual([
      ['/config/github_repos/0/api_access', 'needs `secret_name`'],
      ['/config/git_repos/0/api_access', 'needs `secret_name`'],
    ]);
    expect(await refused(400, { git_repos: [{ url: URL, secret_name: 'DEPLOY_TOKEN', api_access: 'all' }] })).toEqual([
      ['/config/git_repos/0/api_access', expect.stringContaining('repository, token')],
    ]);
  });

  it('reach the runner in its claim with the repositories until its end, and no other one, and are not logged', async () => {
    const config = {
      env: { PLAIN: 'yes' },
      secrets: [{ name: 'DEPLOY_TOKEN' }, { name: 'npm-token' }, { name: '1st' }],
      github_repos: [{ owner: 'acme', repo: 'service', secret_name: 'DEPLOY_TOKEN', api_access: 'token' }],
      git_repos: [
        {
          url: 'https://git.example.test/other/service.git',
          ref: 'v1',
          secret_name: 'npm-token',
          username: 'me',
          api_access: 'repository',
        },
        { url: URL },
      ],
    };
    const { token } = admin;
    const environment = await api.request(201, 'POST /environments', { token, body: { config } });
    expect(environment.body.config).toEqual({ ...config, env: { PLAIN: '***' } });
    const run = await api.request(200, 'POST /agent/runs', {
      token,
      body: { prompt: 'go', config: { environment_id: environment.body.uid } },
    });
    const runner = await TestRunner.take(api, run.body.run_id);
    const { assignment } = runner;
    expect(assignment.git).toEqual({
      author: { name: 'Agents', email: 'agents@example.test' },
      forges: [
        { type: 'github', url: 'https://github.example.test', api_url: 'https://github.example.test/api/v3' },
        { type: 'gitlab', url: 'https://gitlab.com', api_url: 'https://gitlab.com/api/v4' },
      ],
    });
    const ask = (status: number, url: string, lease_epoch = assignment.lease_epoch) =>
      runner.call(status, 'POST repository-credential', {}, { lease_epoch, url });
    const [first] = assignment.repositories;
    expect((await ask(200, first?.url ?? '')).body).toEqual({ credential: { password: VALUE } });
    expect((await ask(200, 'https://github.example.test/acme/other.git')).body).toEqual({
      problem: expect.stringContaining('no credential'),
    });
    await ask(412, first?.url ?? '', assignment.lease_epoch + 1);
    expect(assignment.secrets).toEqual({ DEPLOY_TOKEN: VALUE, npm_token: VALUE, _1st: VALUE });
    expect(assignment.repositories).toEqual([
      {
        url: 'https://github.example.test/acme/service.git',
        directory: 'service',
        api_access: 'token',
        credential: { password: VALUE },
      },
      {
        url: 'https://git.example.test/other/service.git',
        ref: 'v1',
        directory: 'service-2',
        credential: { password: VALUE, username: 'me' },
      },
      { url: URL, directory: 'a' },
    ]);
    const answers = await Promise.all(
      [`/agent/runs/${run.body.run_id}`, `/agent/runs/${run.body.run_id}/timeline`, '/agent/environments'].map((path) =>
        api.request(200, `GET ${path}`, { token }),
      ),
    );
    expect(JSON.stringify(answers.map(({ body }) => body))).not.toContain(VALUE);
    expect(JSON.stringify(api.log.lines)).not.toContain(VALUE);
    const rows = await api.database.query<{ row: string }>(
      `SELECT t::text AS row FROM runs t UNION ALL SELECT t::text FROM run_events t UNION ALL SELECT t::text FROM executions t UNION ALL SELECT t::text FROM environments t`,
    );
    expect(rows.length).toBeGreaterThan(3);
    expect(JSON.stringify(rows)).not.toContain(VALUE);

    // Another execution gets none with its own token, and its token is none of this one.
    const { body: created } = await api.request(200, 'POST /agent/runs', { token, body: { prompt: 'go' } });
    const other = await TestRunner.take(api, created.run_id);
    const asked = (url = '') => ({ lease_epoch: other.assignment.lease_epoch, url });
    expect((await other.call(200, 'POST repository-credential', {}, asked(first?.url))).body).toEqual({
      problem: expect.stringContaining('environment of the run'),
    });
    const path = `/runner/v1/executions/${assignment.execution_id}/repository-credential`;
    await api.request(401, `POST ${path}`, { token: other.token, body: asked(first?.url) });
    await runner.startAgent();
    await runner.finish();
    await ask(412, first?.url ?? '');
  });
});
