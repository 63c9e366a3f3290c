import { Injectable } from '@nestjs/common';
import { type Caller, PrincipalDirectory } from '#platform/auth';
import { Settings } from '#platform/config';
import { LastRuns } from '../application/last-runs.js';
import type { EnvironmentDetails, LastRun } from '../domain/environment.js';
import type { EnvironmentGrant, EnvironmentLink } from '../domain/environment-sharing.js';
import { shownConfig } from '../domain/masked-config.js';
import type { EnvironmentItem } from './environment.dto.js';
import type { CreatedEnvironmentLink, EnvironmentGrantItem, EnvironmentLinkItem } from './environment-sharing.dto.js';

@Injectable()
export class EnvironmentPresenter {
  constructor(
    private readonly principals: PrincipalDirectory,
    private readonly lastRuns: LastRuns,
    private readonly settings: Settings,
  ) {}

  /** With the last run in each that the caller may read. */
  async present(caller: Caller, environments: readonly EnvironmentDetails[]): Promise<EnvironmentItem[]> {
    const people = environments.flatMap(({ creator, lastEditor }) => [creator, lastEditor]);
    const known = await this.principals.describe(people);
    const uids = environments.map(({ uid }) => uid);
    const lastRuns = await this.lastRuns.find(caller, uids);
    return environments.map(({ uid, config, teamUid, userUid, setupFailed, creator, lastEditor, updatedAt }) => ({
      uid,
      config: shownConfig(config),
      last_updated: updatedAt.toISOString(),
      setup_failed: setupFailed,
      ...lastRunFields(lastRuns.get(uid)),
      scope: teamUid === null ? { type: 'User', uid: userUid } : { type: 'Team', uid: teamUid },
      creator: known.get(creator.uid) ?? creator,
      last_editor: known.get(lastEditor.uid) ?? lastEditor,
    }));
  }

  async presentOne(caller: Caller, environment: EnvironmentDetails): Promise<EnvironmentItem> {
    return only(await this.present(caller, [environment]));
  }

  async presentGrants(grants: readonly EnvironmentGrant[]): Promise<EnvironmentGrantItem[]> {
    const people = grants.flatMap(({ grantee: { type, uid } }) => (type === 'user' ? [{ type, uid }] : []));
    const known = await this.principals.describe([...people, ...grants.map(({ creator }) => creator)]);
    return grants.map(({ uid, grantee, creator, createdAt }) => ({
      uid,
      access: 'use',
      ...(grantee.type === 'team'
        ? { team_uid: grantee.uid }
        : { user: known.get(grantee.uid) ?? { type: 'user', uid: grantee.uid } }),
      created_at: createdAt.toISOString(),
      created_by: known.get(creator.uid) ?? creator,
    }));
  }

  async presentGrant(grant: EnvironmentGrant): Promise<EnvironmentGrantItem> {
    return only(await this.presentGrants([grant]));
  }

  async presentLinks(links: readonly EnvironmentLink[]): Promise<EnvironmentLinkItem[]> {
    const known = await this.principals.describe(links.map(({ creator }) => creator));
    return links.map(({ uid, expiresAt, maxUses, uses, creator, createdAt }) => ({
      uid,
      ...(expiresAt && { expires_at: expiresAt.toISOString() }),
      ...(maxUses !== null && { max_uses: maxUses }),
      uses,
      created_at: createdAt.toISOString(),
      created_by: known.get(creator.uid) ?? creator,
    }));
  }

  /** With the token, which is returned only here. After the # of the URL it reaches no server and no log. */
  async presentCreated(link: EnvironmentLink, token: string): Promise<CreatedEnvironmentLink> {
    const url = `${this.settings.publicUrl}/environments/shared#${token}`;
    return { ...only(await this.presentLinks([link])), token, url };
  }
}

function only<Item>([item]: readonly Item[]): Item {
  if (item === undefined) throw new Error('One item was not presented.');
  return item;
}

function lastRunFields(
  run: LastRun | undefined,
): Pick<EnvironmentItem, 'last_task_run_timestamp' | 'last_task_created'> {
  if (!run) return {};
  const { id, title, state, createdAt, updatedAt, startedAt } = run;
  const created_at = createdAt.toISOString();
  const started = startedAt && { started_at: startedAt.toISOString() };
  const last_task_created = { id, title, state, created_at, updated_at: updatedAt.toISOString(), ...started };
  return { last_task_run_timestamp: created_at, last_task_created };
}
