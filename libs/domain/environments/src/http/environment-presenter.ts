import { Injectable } from '@nestjs/common';
import { type Caller, PrincipalDirectory } from '#platform/auth';
import { LastRuns } from '../application/last-runs.js';
import type { EnvironmentDetails, LastRun } from '../domain/environment.js';
import { shownConfig } from '../domain/masked-config.js';
import type { EnvironmentItem, EnvironmentLastRun } from './environment.dto.js';

/** Environments as responses show them: env values masked, principals by name, the last run that the caller may read. */
@Injectable()
export class EnvironmentPresenter {
  constructor(
    private readonly principals: PrincipalDirectory,
    private readonly lastRuns: LastRuns,
  ) {}

  async present(caller: Caller, environments: readonly EnvironmentDetails[]): Promise<EnvironmentItem[]> {
    const known = await this.principals.describe(
      environments.flatMap(({ creator, lastEditor }) => [creator, lastEditor]),
    );
    const lastRuns = await this.lastRuns.find(
      caller,
      environments.map(({ uid }) => uid),
    );
    return environments.map(({ uid, config, teamUid, ownerUserUid, setupFailed, creator, lastEditor, updatedAt }) => ({
      uid,
      config: shownConfig(config),
      last_updated: updatedAt.toISOString(),
      setup_failed: setupFailed,
      ...lastRunFields(lastRuns.get(uid)),
      scope: teamUid === null ? { type: 'User', uid: ownerUserUid ?? '' } : { type: 'Team', uid: teamUid },
      creator: known.get(creator.uid) ?? creator,
      last_editor: known.get(lastEditor.uid) ?? lastEditor,
    }));
  }

  async presentOne(caller: Caller, environment: EnvironmentDetails): Promise<EnvironmentItem> {
    const [item] = await this.present(caller, [environment]);
    if (!item) throw new Error('An environment was not presented.');
    return item;
  }
}

function lastRunFields(
  run: LastRun | undefined,
): Pick<EnvironmentItem, 'last_task_run_timestamp' | 'last_task_created'> {
  return run ? { last_task_run_timestamp: run.createdAt.toISOString(), last_task_created: presentRun(run) } : {};
}

const presentRun = ({ id, title, state, createdAt, updatedAt, startedAt }: LastRun): EnvironmentLastRun => ({
  id,
  title,
  state,
  created_at: createdAt.toISOString(),
  updated_at: updatedAt.toISOString(),
  ...(startedAt && { started_at: startedAt.toISOString() }),
});
