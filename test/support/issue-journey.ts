import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { until } from '#testing';
import type { ForgeFixture } from './forge-fixture.js';
import { githubDelivery, signedHeaders } from './github-deliveries.js';
import type { Installation } from './installation.js';

/** Of the prompts: the first makes a branch and a pull request of it, the second adds a commit to the branch. */
export interface JourneyPrompts {
  readonly branch: string;
  readonly fix: string;
  readonly revise: string;
}

export interface JourneyOptions {
  readonly installation: Installation;
  readonly forges: ForgeFixture;
  readonly prompts: JourneyPrompts;
  /** Of the automations, beside the environment. */
  readonly agentConfig?: object;
  /** Time for a turn of the agent. */
  readonly turnMs?: number;
}

interface Endpoints {
  readonly fixer: string;
  readonly ingress: string;
  readonly secret: string;
}

interface RunWithArtifacts {
  readonly artifacts: readonly { artifact_type: string; data: { url: string; status: string } }[];
}

const PERMISSIONS = { checks: 'write', contents: 'write', issues: 'write', metadata: 'read', pull_requests: 'write' };
const ANSWER_MS = 60_000;
/** On GitHub issues and pull requests have their numbers from one sequence. */
const GITHUB_ISSUE = 41;
/** That of the repository, the fix, and its revision. */
const COMMITS_AFTER_REVISION = 3;
/** After all other states of the pull request. */
const MERGED_AT = '2100-01-01T00:00:00Z';

export function pullRequestOf({ artifacts }: RunWithArtifacts) {
  const found = artifacts.find(({ artifact_type: type }) => type === 'PULL_REQUEST');
  if (!found) throw new Error(`The run has no pull request: ${JSON.stringify(artifacts)}`);
  return found;
}

/** Each step waits until its effects are seen; the steps belong together in the order of their declaration. */
export abstract class IssueJourney {
  runId = '';
  /** Of the pull request or merge request. */
  url = '';
  private endpoints: Endpoints | null = null;

  constructor(protected readonly options: JourneyOptions) {}

  /** What a person would have to do once: a credential, an environment, a webhook and two automations. */
  abstract prepare(): Promise<void>;
  abstract labelIssue(): Promise<void>;
  /** The comment at the issue and the report at the commit say that the run has succeeded. */
  abstract expectAnswers(): Promise<void>;
  abstract requestChanges(): Promise<void>;
  /** A second commit of the same run, with its answers. */
  abstract expectRevision(): Promise<void>;
  protected abstract deliverMerge(): Promise<void>;
  /** Of the pull request or merge request. */
  protected abstract commentsAtRequest(): readonly string[];

  protected get given(): Endpoints {
    if (!this.endpoints) throw new Error('The journey is not prepared.');
    return this.endpoints;
  }

  /** The first run ends with a pull request. */
  async expectRun(): Promise<Record<string, unknown>> {
    const { installation, turnMs = 60_000 } = this.options;
    await until(async () => (await this.runs()).length === 1, ANSWER_MS);
    [{ run_id: this.runId }] = (await this.runs()) as [{ run_id: string }];
    const run = await installation.waitFor(this.runId, ['SUCCEEDED', 'FAILED', 'ERROR'], turnMs);
    expect(run.state, JSON.stringify(run.status_message)).toBe('SUCCEEDED');
    this.url = pullRequestOf(run).data.url;
    return run as Record<string, unknown>;
  }

  /** A person merges the pull request: the artifact and the answer say so. */
  async merge(): Promise<void> {
    const { installation } = this.options;
    expect(pullRequestOf(await installation.run(this.runId)).data).toMatchObject({ url: this.url, status: 'open' });
    await this.deliverMerge();
    await until(async () => pullRequestOf(await installation.run(this.runId)).data.status === 'merged', ANSWER_MS);
    await until(() => this.commentsAtRequest()[0]?.includes(`- ${this.url} (merged)`) === true, ANSWER_MS);
    expect(this.commentsAtRequest()).toHaveLength(1);
    expect(await this.runs()).toHaveLength(1);
  }

  /** Of the automation that fixes issues. */
  async runs(): Promise<{ run_id: string }[]> {
    return (await this.options.installation.call('GET', `/agent/runs?automation_id=${this.given.fixer}`)).body.runs;
  }

  protected async setUp(
    environmentConfig: object,
    webhook: { name: string; signature_scheme: string },
    automations: readonly [fix: object, revise: object],
  ): Promise<void> {
    const { prompts, agentConfig } = this.options;
    const { uid: environment } = await this.created('/environments', { config: environmentConfig, team: true });
    const factory = `/factories/${this.options.installation.connection.factory_uid}`;
    const secret = randomBytes(20).toString('hex');
    const signed = { auth_mode: 'signature', secret, ...webhook };
    const { ingress_url: ingress } = await this.created(`${factory}/webhooks`, signed);
    const agent = { enabled: true, agent_config: { environment_id: environment, ...agentConfig } };
    const [fix, revise] = automations;
    const { uid: fixer } = await this.created(`${factory}/automations`, { ...agent, prompt: prompts.fix, ...fix });
    const concurrency = { policy: 'continue' };
    await this.created(`${factory}/automations`, { ...agent, prompt: prompts.revise, concurrency, ...revise });
    this.endpoints = { fixer: fixer as string, ingress: ingress as string, secret };
  }

  protected async putSecret(name: string, value: string): Promise<void> {
    expect((await this.options.installation.call('PUT', `/secrets/${name}`, { value })).status).toBeLessThan(300);
  }

  private async created(path: string, body: object): Promise<Record<string, unknown>> {
    const answer = await this.options.installation.call('POST', path, body);
    expect(answer, JSON.stringify(answer.body)).toMatchObject({ status: 201 });
    return answer.body as Record<string, unknown>;
  }

  protected async post(headers: Record<string, string>, body: string): Promise<void> {
    const response = await fetch(this.given.ingress, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    });
    expect([response.status, await response.text()]).toEqual([202, expect.stringContaining('delivery_id')]);
  }

  protected async expectSecondCommit(): Promise<void> {
    const { installation, forges, prompts, turnMs = 60_000 } = this.options;
    await until(() => forges.commitsOf(prompts.branch).length === COMMITS_AFTER_REVISION, turnMs);
    expect((await installation.waitFor(this.runId, ['SUCCEEDED'], turnMs)).run_id).toBe(this.runId);
    expect(await this.runs()).toHaveLength(1);
  }
}

/** With a GitHub App: answers at checks are for Apps only. */
export class GithubIssueJourney extends IssueJourney {
  private start = '';

  async prepare(): Promise<void> {
    const { github } = this.options.forges;
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    await this.putSecret('github-key', privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
    github.app = { id: 815, publicKey, permissions: PERMISSIONS, isInstalled: true, tokenMs: 3_600_000 };
    const repositories = [{ owner: 'acme', repo: 'app', secret_name: 'github-key', github_app_id: 815 }];
    await this.setUp({ name: 'team', github_repos: repositories }, { name: 'github', signature_scheme: 'github' }, [
      { name: 'fix', triggers: [{ provider: 'github', event: 'issue_labeled', filter: { labels: ['agent'] } }] },
      { name: 'revise', triggers: [{ provider: 'github', event: 'pull_request_reviewed' }] },
    ]);
  }

  async labelIssue(): Promise<void> {
    await this.deliver('issues', 'labeled', { issue: { number: GITHUB_ISSUE }, label: { name: 'agent' } });
  }

  async expectAnswers(): Promise<void> {
    const { github } = this.options.forges;
    const { checkRuns, reactions } = github.answers;
    await until(() => this.comments(GITHUB_ISSUE)[0]?.includes('**has succeeded**') === true, ANSWER_MS);
    expect(this.comments(GITHUB_ISSUE)).toEqual([expect.stringContaining(`- ${this.url} (open)`)]);
    expect(reactions).toEqual([`issues/${GITHUB_ISSUE}`]);
    this.start = this.options.forges.headOf(this.options.prompts.branch);
    const check = { name: 'headrace: fix', external_id: this.runId };
    const details_url = expect.stringContaining(this.runId) as string;
    await until(() => checkRuns[0]?.conclusion === 'success', ANSWER_MS);
    expect(checkRuns).toMatchObject([{ ...check, details_url, head_sha: this.start, status: 'completed' }]);
  }

  async requestChanges(): Promise<void> {
    const pull_request = { number: this.number, html_url: this.url, draft: false };
    await this.deliver('pull_request_review', 'submitted', { pull_request });
  }

  async expectRevision(): Promise<void> {
    const { forges, prompts } = this.options;
    const { checkRuns } = forges.github.answers;
    await this.expectSecondCommit();
    await until(
      () => checkRuns.length === 2 && checkRuns.every(({ conclusion }) => conclusion === 'success'),
      ANSWER_MS,
    );
    expect(checkRuns.map(({ head_sha: sha }) => sha)).toEqual([this.start, forges.headOf(prompts.branch)]);
    await until(() => this.comments(this.number)[0]?.includes('**has succeeded**') === true, ANSWER_MS);
    expect([this.comments(GITHUB_ISSUE).length, this.comments(this.number).length]).toEqual([1, 1]);
  }

  protected async deliverMerge(): Promise<void> {
    const at = MERGED_AT;
    const merged = { html_url: this.url, state: 'closed', merged: true, merged_at: at, closed_at: at, updated_at: at };
    await this.deliver('pull_request', 'closed', { pull_request: merged });
  }

  protected commentsAtRequest(): readonly string[] {
    return this.comments(this.number);
  }

  /** Of the pull request. */
  private get number(): number {
    return Number(this.url.split('/').at(-1));
  }

  private comments(of: number): string[] {
    return this.options.forges.github.answers.comments.filter((one) => one.number === of).map(({ body }) => body);
  }

  private async deliver(kind: string, action: string, changes: object): Promise<void> {
    const repository = { full_name: 'acme/app', name: 'app', html_url: `${this.options.forges.git.url}/acme/app` };
    const delivery = githubDelivery(kind, action, { repository, ...changes });
    await this.post(signedHeaders(delivery, randomUUID(), this.given.secret), delivery.body);
  }
}

/** With an access token. */
export class GitlabIssueJourney extends IssueJourney {
  private start = '';

  constructor(
    options: JourneyOptions,
    private readonly token: string,
  ) {
    super(options);
  }

  async prepare(): Promise<void> {
    const { gitlab } = this.options.forges;
    await this.putSecret('gitlab-token', this.token);
    const repositories = [{ url: `${gitlab.url}/acme/app.git`, secret_name: 'gitlab-token', username: 'oauth2' }];
    await this.setUp(
      { name: 'gitlab', git_repos: repositories },
      { name: 'gitlab', signature_scheme: 'gitlab_token' },
      [
        { name: 'solve', triggers: [{ provider: 'gitlab', event: 'issue_labeled', filter: { labels: ['agent'] } }] },
        {
          name: 'change',
          triggers: [{ provider: 'gitlab', event: 'pull_request_commented', filter: { senders: ['ada'] } }],
        },
      ],
    );
  }

  async labelIssue(): Promise<void> {
    await this.deliver('Issue Hook', {
      object_kind: 'issue',
      object_attributes: { iid: 7, action: 'update' },
      changes: { labels: { previous: [], current: [{ title: 'agent' }] } },
    });
  }

  async expectAnswers(): Promise<void> {
    const { gitlab } = this.options.forges;
    await until(() => this.notes('issues/7')[0]?.includes('**has succeeded**') === true, ANSWER_MS);
    expect(this.notes('issues/7')).toEqual([expect.stringContaining(`- ${this.url} (open)`)]);
    this.start = this.options.forges.headOf(this.options.prompts.branch);
    await until(() => gitlab.statuses[0]?.state === 'success', ANSWER_MS);
    expect(gitlab.statuses).toMatchObject([{ sha: this.start, name: 'headrace: solve' }]);
  }

  async requestChanges(): Promise<void> {
    await this.deliver('Note Hook', {
      object_kind: 'note',
      object_attributes: { id: 55, note: 'Please change it.', noteable_type: 'MergeRequest', action: 'create' },
      merge_request: { iid: 1, url: this.url },
    });
  }

  async expectRevision(): Promise<void> {
    const { forges, prompts } = this.options;
    const { statuses, emoji } = forges.gitlab;
    await this.expectSecondCommit();
    await until(() => this.notes('merge_requests/1')[0]?.includes('**has succeeded**') === true, ANSWER_MS);
    await until(() => statuses.length === 2 && statuses.every(({ state }) => state === 'success'), ANSWER_MS);
    expect(statuses.map(({ sha }) => sha)).toEqual([this.start, forges.headOf(prompts.branch)]);
    expect([this.notes('issues/7').length, this.notes('merge_requests/1').length]).toEqual([1, 1]);
    expect(emoji).toEqual(['issues/7', 'merge_requests/1/notes/55']);
  }

  protected async deliverMerge(): Promise<void> {
    await this.deliver('Merge Request Hook', {
      object_kind: 'merge_request',
      object_attributes: {
        iid: 1,
        action: 'merge',
        state: 'merged',
        url: this.url,
        updated_at: MERGED_AT.replace('T', ' ').replace('Z', ' UTC'),
      },
    });
  }

  protected commentsAtRequest(): readonly string[] {
    return this.notes('merge_requests/1');
  }

  private notes(of: string): string[] {
    return this.options.forges.gitlab.notes.filter((one) => one.of === of).map(({ body }) => body);
  }

  private async deliver(kind: string, payload: object): Promise<void> {
    const { gitlab } = this.options.forges;
    const body = {
      project: { path_with_namespace: 'acme/app', web_url: `${gitlab.url}/acme/app` },
      user: { username: 'ada' },
      ...payload,
    };
    const headers = {
      'x-gitlab-event': kind,
      'x-gitlab-token': this.given.secret,
      'x-gitlab-event-uuid': randomUUID(),
    };
    await this.post(headers, JSON.stringify(body));
  }
}
