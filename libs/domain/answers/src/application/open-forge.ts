import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { EnvironmentDirectory, EnvironmentSetUp } from '#domain/environments';
import { forgesOf } from '#domain/runs';
import { AnswerFailure } from '../domain/answer-failure.js';
import type { AnswerTarget } from '../domain/answer.js';
import type { CheckedAnswers } from '../adapters/forge-answers.js';
import { ForgeConnections } from '../adapters/forge-connection.js';
import { GITHUB_HEADERS, GithubAnswers } from '../adapters/github-answers.js';
import { GITLAB_HEADERS, GitlabAnswers } from '../adapters/gitlab-answers.js';
import type { ReadRun } from '../persistence/answers.store.js';

/** What decides which environment a run may use. */
type EnvironmentUse = Pick<ReadRun, 'id' | 'environmentUid' | 'repository' | 'teamUid' | 'userUid' | 'creatorUid'>;

/** Opens the repository of an answer with the credential that the environment of the run names for it. */
@Injectable()
export class OpenForge {
  constructor(
    private readonly settings: Settings,
    private readonly environments: EnvironmentDirectory,
    private readonly setUps: EnvironmentSetUp,
    private readonly connections: ForgeConnections,
  ) {}

  /** Whether the environment of the run names a credential for the repository. */
  async canOpen({ provider, repository }: AnswerTarget, run: EnvironmentUse): Promise<boolean> {
    const forge = this.forgeOf(provider);
    if (!forge) return false;
    return (await this.findLogin(`${forge.url}/${repository}`, run)) !== null;
  }

  /** Rejects with an AnswerFailure. */
  async open(answer: AnswerTarget, run: EnvironmentUse, signal: AbortSignal): Promise<CheckedAnswers> {
    const { provider, repository } = answer;
    const forge = this.forgeOf(provider);
    if (!forge) throw new AnswerFailure('refused', 'The installation has a directory in place of GitHub.');
    const page = `${forge.url}/${repository}`;
    const login = await this.findLogin(page, run);
    if (!login) throw new AnswerFailure('refused', `The environment of the run names no credential for ${page}.`);
    const { environment, found } = login;
    const use = { actor: { type: 'system' }, details: { run_id: run.id, purpose: 'answer on the forge' } } as const;
    const result = await this.setUps.credentialOf(environment, found, use, 'answers');
    if (result.kind === 'impossible')
      throw new AnswerFailure(result.isTemporary === true ? 'temporary' : 'refused', result.message);
    const { password, identity } = result.credential;
    const isApp = identity !== undefined;
    const onTokenRejected = isApp ? () => this.setUps.discardToken(password) : undefined;
    const connect = (name: string, headers: Readonly<Record<string, string>>) =>
      this.connections.open(
        { name, apiUrl: forge.api_url, token: password.trimEnd(), headers, onTokenRejected },
        signal,
      );
    const { publicUrl } = this.settings;
    return provider === 'github'
      ? new GithubAnswers(connect('GitHub', GITHUB_HEADERS), answer, isApp, publicUrl)
      : new GitlabAnswers(connect('GitLab', GITLAB_HEADERS), answer, publicUrl);
  }

  private forgeOf(provider: AnswerTarget['provider']) {
    return forgesOf(this.settings).find(({ type }) => type === provider);
  }

  private async findLogin(page: string, run: EnvironmentUse) {
    const { environmentUid: uid, teamUid, userUid, creatorUid } = run;
    const usable = uid === null ? null : await this.environments.findForRun(uid, { teamUid, userUid, creatorUid });
    const environment = usable && this.setUps.forRepository(usable, run.repository ?? undefined);
    const found = environment && this.setUps.repositoryWithLogin(environment, page);
    return environment && found ? { environment, found } : null;
  }
}
