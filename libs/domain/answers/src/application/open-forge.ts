import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { EnvironmentDirectory, EnvironmentSetUp } from '#domain/environments';
import { forgesOf } from '#domain/runs';
import { AnswerFailure } from '../domain/answer-failure.js';
import type { ClaimedAnswer } from '../domain/answer.js';
import type { ForgeAnswers } from '../adapters/forge-answers.js';
import { ForgeConnections } from '../adapters/forge-connection.js';
import { GITHUB_HEADERS, GithubAnswers } from '../adapters/github-answers.js';
import { GITLAB_HEADERS, GitlabAnswers } from '../adapters/gitlab-answers.js';
import type { ReadRun } from '../persistence/answers.store.js';

/** Opens the repository of an answer with the credential that the environment of the run names for it. */
@Injectable()
export class OpenForge {
  constructor(
    private readonly settings: Settings,
    private readonly environments: EnvironmentDirectory,
    private readonly setUps: EnvironmentSetUp,
    private readonly connections: ForgeConnections,
  ) {}

  /** Rejects with an AnswerFailure. */
  async open(answer: ClaimedAnswer, run: ReadRun, signal: AbortSignal): Promise<ForgeAnswers> {
    const { provider, repository } = answer;
    const forge = forgesOf(this.settings).find(({ type }) => type === provider);
    if (!forge) throw new AnswerFailure('refused', 'The installation has a directory in place of GitHub.');
    const { environmentUid: uid, teamUid, userUid, creatorUid } = run;
    const usable = uid === null ? null : await this.environments.findForRun(uid, { teamUid, userUid, creatorUid });
    const environment = usable && this.setUps.forRepository(usable, run.repository ?? undefined);
    const page = `${forge.url}/${repository}`;
    const found = environment && this.setUps.repositoryWithLogin(environment, page);
    if (!found) throw new AnswerFailure('refused', `The environment of the run names no credential for ${page}.`);
    const use = { actor: { type: 'system' }, details: { run_id: run.id, purpose: 'answer on the forge' } } as const;
    const result = await this.setUps.credentialOf(environment, found, use, 'answers');
    if (result.kind === 'impossible')
      throw new AnswerFailure(result.isTemporary === true ? 'temporary' : 'refused', result.message);
    const { password, identity } = result.credential;
    const isApp = identity !== undefined;
    const connect = (name: string, headers: Readonly<Record<string, string>>) =>
      this.connections.open(
        { name, apiUrl: forge.api_url, token: password.trimEnd(), headers, isTokenReplaced: isApp },
        signal,
      );
    return provider === 'github'
      ? new GithubAnswers(connect('GitHub', GITHUB_HEADERS), answer, isApp)
      : new GitlabAnswers(connect('GitLab', GITLAB_HEADERS), answer);
  }
}
