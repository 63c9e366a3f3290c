import { LRUCache } from 'lru-cache';
import { Injectable } from '@nestjs/common';
import { Database, type Statement } from '#platform/persistence';
import type { Caller, Membership } from '../domain/principal.js';
import { INITIAL_TEAM_SETTINGS, type TeamSettings } from '../domain/team-settings.js';
import { PrincipalDirectory, type PrincipalRef } from './principal-directory.js';

/** The same as for settings that are read with a token. */
const FRESH_MS = 1000;
const MAX_CACHED = 5000;

const FIND: Statement = {
  name: 'auth.team-settings',
  text: `SELECT default_model_id, default_worker_host, metadata_filter, schedules FROM teams WHERE uid = $1`,
};

interface Row {
  default_model_id: string | null;
  default_worker_host: string | null;
  metadata_filter: boolean;
  schedules: boolean;
}

/** Settings of teams, for work that has no token. They may be a second old. */
@Injectable()
export class TeamDirectory {
  private readonly cache = new LRUCache<string, TeamSettings>({ max: MAX_CACHED, ttl: FRESH_MS, ttlResolution: 0 });

  constructor(
    private readonly database: Database,
    private readonly principals: PrincipalDirectory,
  ) {}

  /** One round trip, or none. */
  async settings(teamUid: string): Promise<TeamSettings> {
    // The time counts from before the query, so that nothing older than FRESH_MS is returned.
    const start = performance.now();
    const cached = this.cache.get(teamUid);
    if (cached) return cached;
    const [row] = await this.database.query<Row>(FIND, [teamUid]);
    const settings = row ? toSettings(row) : INITIAL_TEAM_SETTINGS;
    this.cache.set(teamUid, settings, { start });
    return settings;
  }

  /**
   * The author of a schedule or an automation as the caller that creates its runs. For a team the author counts as a member,
   * also after having left the team; a personal run (`teamUid` null) needs the current memberships of its owner.
   */
  async authorOf({ type, uid }: PrincipalRef, teamUid: string | null): Promise<Caller> {
    const memberships: readonly Membership[] =
      teamUid === null
        ? ((await this.principals.membershipsOf(uid)) ?? [])
        : [{ teamUid, role: 'member', team: await this.settings(teamUid) }];
    const principal = { type, uid, displayName: '', memberships, tokenUid: '' };
    return { principal, permission: 'runs:write', teamUid, teamUids: teamUid === null ? [] : [teamUid] };
  }
}

const toSettings = (row: Row): TeamSettings => ({
  defaultModelId: row.default_model_id,
  defaultWorkerHost: row.default_worker_host,
  features: { metadata_filter: row.metadata_filter, schedules: row.schedules },
});
