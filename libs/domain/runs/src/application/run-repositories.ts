import { Injectable } from '@nestjs/common';
import { EnvironmentDirectory, EnvironmentSetUp } from '#domain/environments';
import { pullRequestRef } from '#platform/git';
import { RunsStore } from '../persistence/runs.store.js';

/** The repositories with which the workspace of a run is set up, as its environment and its configuration name them now. */
@Injectable()
export class RunRepositories {
  constructor(
    private readonly runs: RunsStore,
    private readonly environments: EnvironmentDirectory,
    private readonly setUps: EnvironmentSetUp,
  ) {}

  /** Whether `url` is the page of a pull request in one of them. */
  async havePullRequest(runId: string, url: string): Promise<boolean> {
    const run = await this.runs.find(runId);
    const uid = run?.config.environment_id;
    if (!run || uid === undefined) return false;
    const usable = await this.environments.findForRun(uid, { ...run.owner, creatorUid: run.creator.uid });
    const environment = usable && this.setUps.forRepository(usable, run.config.repository);
    return environment !== null && this.setUps.urlsOf(environment).some((one) => pullRequestRef(one, url) !== null);
  }
}
