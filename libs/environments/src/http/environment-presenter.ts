import { Injectable } from '@nestjs/common';
import { PrincipalDirectory } from '#libs/auth';
import { MASKED } from '#libs/kernel';
import type { EnvironmentConfig, EnvironmentDetails } from '../domain/environment.js';
import type { EnvironmentItem } from './environment.dto.js';

/** Environments as responses show them: env values masked, principals by name. */
@Injectable()
export class EnvironmentPresenter {
  constructor(private readonly principals: PrincipalDirectory) {}

  async present(environments: readonly EnvironmentDetails[]): Promise<EnvironmentItem[]> {
    const known = await this.principals.describe(
      environments.flatMap(({ creator, lastEditor }) => [creator, lastEditor]),
    );
    return environments.map(({ uid, config, teamUid, ownerUserUid, setupFailed, creator, lastEditor, updatedAt }) => ({
      uid,
      config: maskEnv(config),
      last_updated: updatedAt.toISOString(),
      setup_failed: setupFailed,
      scope: teamUid === null ? { type: 'User', uid: ownerUserUid ?? '' } : { type: 'Team', uid: teamUid },
      creator: known.get(creator.uid) ?? creator,
      last_editor: known.get(lastEditor.uid) ?? lastEditor,
    }));
  }
}

function maskEnv(config: EnvironmentConfig): EnvironmentConfig {
  if (config.env === undefined) return config;
  return { ...config, env: Object.fromEntries(Object.keys(config.env).map((name) => [name, MASKED])) };
}
