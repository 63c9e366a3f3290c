import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { BuiltWebhook } from '#testing';
import { ApiFixture, automationsOf } from '../../support/api-fixture.js';
import { githubDelivery, type GithubDelivery } from '../../support/github-deliveries.js';
import { type FiringProcess, startFiring } from './firing-process.js';

let fixture: ApiFixture;
let processor: FiringProcess;
let hook: BuiltWebhook;
let environment: string;

beforeAll(async () => {
  fixture = await ApiFixture.start();
  processor = await startFiring(fixture.api.settings);
  environment = await environmentOf({ github_repos: [{ owner: 'codertocat', repo: '*' }] });
});
afterAll(async () => {
  await processor.close();
  await fixture.close();
});
beforeEach(async () => {
  hook = await fixture.webhooks.webhook({
    factoryUid: await fixture.createFactory(),
    authMode: 'signature',
    signatureScheme: 'github',
  });
});

async function environmentOf(config: object): Promise<string> {
  const body = { config: { name: 'any', ...config }, team: true };
  return (await fixture.requestAsAdmin(201, 'POST /environments', body)).uid;
}
const automation = (event: string, fields: object = {}): Promise<{ uid: string }> =>
  fixture.createAutomation(
    {
      triggers: [{ provider: 'github', event }],
      agent_config: { environment_id: environment },
      event_repository: true,
      ...fields,
    },
    hook.factoryUid,
  );
async function deliver({ body, headers }: GithubDelivery) {
  const { id } = await fixture.deliveries.build(hook.id, { body, headers });
  await processor.evaluateAll();
  const path = `/factories/${hook.factoryUid}/webhooks/${hook.uid}/deliveries/${id}`;
  return (await fixture.requestAsAdmin(200, `GET ${path}`)).automation_results[0];
}
const repositoryOf = async (delivery: GithubDelivery) => {
  const { run_id: runId, reason } = await deliver(delivery);
  expect(runId, reason).toEqual(expect.any(String));
  return (await fixture.getRun(runId, fixture.admin)).agent_config.repository;
};
const named = (name: string) => ({
  full_name: `codertocat/${name}`,
  name,
  html_url: `https://github.com/codertocat/${name}`,
});
const URL_OF = (name: string): string => `https://github.com/codertocat/${name}.git`;

describe('the repository of an event', () => {
  it('is that of the run: one automation for many repositories', async () => {
    await automation('issue_opened');
    for (const name of ['service', 'website'])
      expect(await repositoryOf(githubDelivery('issues', 'opened', { repository: named(name) }))).toEqual({
        url: URL_OF(name),
      });
  });

  it('has the branch of a pull request, or the default branch for one of a fork', async () => {
    await automation('pull_request_opened');
    const repository = { ...named('service'), id: 7 };
    const head = (id: number) => ({ draft: false, author_association: 'OWNER', head: { ref: 'fix', repo: { id } } });
    const opened = (id: number) => githubDelivery('pull_request', 'opened', { repository, pull_request: head(id) });
    expect(await repositoryOf(opened(7))).toEqual({ url: URL_OF('service'), ref: 'fix' });
    expect((await repositoryOf(opened(8))).ref).not.toBe('fix');
  });

  it('has the branch of a push', async () => {
    await automation('branch_pushed');
    const push = githubDelivery('push', null, {
      created: false,
      ref: 'refs/heads/release/2',
      deleted: false,
      repository: named('service'),
    });
    expect(await repositoryOf(push)).toEqual({ url: URL_OF('service'), ref: 'release/2' });
  });

  it('starts nothing for a repository that the environment does not allow, and the log says so', async () => {
    const { uid } = await automation('issue_opened');
    const repository = { full_name: 'mallory/service', html_url: 'https://github.com/mallory/service' };
    expect(await deliver(githubDelivery('issues', 'opened', { repository }))).toEqual({
      automation_uid: uid,
      matched: true,
      reason: expect.stringContaining(
        '`config.repository.url` must be a repository that the environment of the run allows',
      ),
    });
    const elsewhere = { ...named('service'), html_url: 'https://github.example/codertocat/service' };
    const result = await deliver(githubDelivery('issues', 'opened', { repository: elsewhere }));
    expect(result).not.toHaveProperty('run_id');
  });

  it('is not one whose address and name differ, because filters compare the name', async () => {
    await automation('issue_opened');
    const repository = { ...named('service'), html_url: 'https://github.com/codertocat/secret' };
    expect(await repositoryOf(githubDelivery('issues', 'opened', { repository }))).toBeUndefined();
  });

  it('starts nothing for a branch whose name git would read as an option, and the log says so', async () => {
    await automation('branch_pushed');
    const push = githubDelivery('push', null, {
      created: false,
      deleted: false,
      ref: 'refs/heads/--upload-pack=x',
      repository: named('service'),
    });
    expect((await deliver(push)).reason).toContain('`config.repository.ref`');
  });

  it('is not used without the field', async () => {
    await automation('issue_opened', { event_repository: false });
    expect(await repositoryOf(githubDelivery('issues', 'opened', { repository: named('service') }))).toBeUndefined();
  });

  it('is a field that is returned, replaced, and part of definition files', async () => {
    const { uid } = await automation('issue_opened');
    const path = `${automationsOf(hook.factoryUid)}/${uid}`;
    const stored = await fixture.requestAsAdmin(200, `GET ${path}`);
    expect(stored.event_repository).toBe(true);
    expect((await fixture.requestAsAdmin(200, `PUT ${path}`, stored)).event_repository).toBe(true);
    const { event_repository: _, ...rest } = stored;
    expect(await fixture.requestAsAdmin(200, `PUT ${path}`, rest)).not.toHaveProperty('event_repository');
    const factory = await fixture.createFactory();
    const files = {
      'factory.yaml': 'schemaVersion: v1alpha1\nname: with a repository\n',
      'automations/fix/automation.md':
        '---\neventRepository: true\ntriggers:\n  - provider: github\n    event: issue_opened\n---\nFix.\n',
    };
    await fixture.applyDefinition(factory, files);
    const { automations } = await fixture.requestAsAdmin(200, `GET ${automationsOf(factory)}`);
    expect(automations[0].event_repository).toBe(true);
    const { plan } = await fixture.planDefinition(factory, files);
    expect(plan.map(({ action }: { action: string }) => action)).toEqual(['unchanged', 'unchanged']);
  });
});

describe('the field repository of a configuration', () => {
  const create = (repository: object, status: number, uid: string | undefined = environment) =>
    fixture.requestAsAdmin(status, 'POST /agent/runs', {
      prompt: 'Work.',
      team: true,
      config: { repository, ...(uid !== undefined && { environment_id: uid }) },
    });

  it('names an entry of the environment, or one that a pattern contains', async () => {
    const { run_id: runId } = await create({ url: 'https://github.com/CoderToCat/x', ref: 'v1' }, 200);
    const { agent_config: config } = await fixture.getRun(runId, fixture.admin);
    expect(config.repository).toEqual({ url: 'https://github.com/CoderToCat/x', ref: 'v1' });
    const one = await environmentOf({ git_repos: [{ url: 'https://git.example.com/a/b.git' }] });
    await create({ url: 'https://git.example.com/a/b' }, 200, one);
    const { errors } = await create({ url: 'https://git.example.com/a/c' }, 403, one);
    expect(errors).toEqual([{ pointer: '/config/repository/url', detail: expect.any(String) }]);
  });

  it('needs an environment', async () => {
    const body = { prompt: 'Work.', team: true, config: { repository: { url: 'https://github.com/a/b' } } };
    const { errors } = await fixture.requestAsAdmin(403, 'POST /agent/runs', body);
    expect(errors).toEqual([{ pointer: '/config/repository/url', detail: expect.any(String) }]);
  });

  it.each([
    [{ url: 'ssh://git@github.com/a/b' }, '/config/repository/url'],
    [{ url: 'https://user:secret@github.com/a/b' }, '/config/repository/url'],
    [{ url: 'https://github.com/a/b?x' }, '/config/repository/url'],
    [{ url: '/srv/git/a' }, '/config/repository/url'],
    [{}, '/config/repository/url'],
    [{ url: 'https://github.com/codertocat/x', ref: '--upload-pack=x' }, '/config/repository/ref'],
  ])('%j is rejected', async (repository, pointer) => {
    const { errors } = await create(repository, 400);
    expect(errors).toEqual([{ pointer, detail: expect.any(String) }]);
  });
});

describe('a pattern of an environment', () => {
  it.each([
    [{ github_repos: [{ owner: 'acme', repo: 'a*' }] }, '/config/github_repos/0/repo'],
    [{ git_repos: [{ url: 'git@github.com:acme/*' }] }, '/config/git_repos/0/url'],
    [{ git_repos: [{ url: 'https://github.com/acme/*/' }] }, '/config/git_repos/0/url'],
    [{ git_repos: [{ url: 'https://github.com/*/x' }] }, '/config/git_repos/0/url'],
    [{ git_repos: [{ url: 'https://github.com/acme/*.git' }] }, '/config/git_repos/0/url'],
  ])('%j is rejected', async (config, pointer) => {
    const body = { config: { name: 'any', ...config }, team: true };
    const { errors } = await fixture.requestAsAdmin(400, 'POST /environments', body);
    expect(errors).toEqual([{ pointer, detail: expect.any(String) }]);
  });
});
