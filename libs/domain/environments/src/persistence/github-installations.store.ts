import { Injectable } from '@nestjs/common';
import { Database, type Queryable } from '#platform/persistence';

export interface GithubInstallation {
  readonly appId: number;
  /** The user or the organization; case does not matter. */
  readonly owner: string;
}

/** Tokens end after one hour: what was found before an older change is not in use any more. */
const RETENTION = '1 day';

/** Changes of installations of GitHub Apps, as the webhooks of a team have reported them. */
@Injectable()
export class GithubInstallationsStore {
  constructor(private readonly database: Database) {}

  /** Undefined: no change is known. A team does not change what another one uses. */
  async versionOf(
    queryable: Queryable,
    teamUid: string | null,
    { appId, owner }: GithubInstallation,
  ): Promise<string | undefined> {
    if (teamUid === null) return undefined;
    const [change] = await queryable.query<{ version: string }>(
      `SELECT version::text FROM headrace.github_installation_changes
       WHERE team_uid = $1 AND app_id = $2 AND account = $3`,
      [teamUid, appId, owner.toLowerCase()],
    );
    return change?.version;
  }

  async recordChange(teamUid: string, { appId, owner }: GithubInstallation): Promise<void> {
    await this.database.query(
      `WITH ended AS (
         DELETE FROM headrace.github_installation_changes
         WHERE team_uid = $1 AND changed_at < headrace.now() - interval '${RETENTION}' AND (app_id, account) <> ($2, $3))
       INSERT INTO headrace.github_installation_changes AS known (team_uid, app_id, account) VALUES ($1, $2, $3)
       ON CONFLICT (team_uid, app_id, account)
       DO UPDATE SET version = known.version + 1, changed_at = headrace.now()`,
      [teamUid, appId, owner.toLowerCase()],
    );
  }
}
