import { LRUCache } from 'lru-cache';
import { Injectable } from '@nestjs/common';
import { maxEntries } from '#platform/kernel';
import { Database, statement } from '#platform/persistence';
import { type Caller, INITIAL_TEAM_SETTINGS, type Membership, type TeamSettings } from '../domain/principal.js';
import { teamSettingsSql } from '../persistence/token-queries.js';
import { PrincipalDirectory, type PrincipalRef } from './principal-directory.js';

/** The same as for settings that are read with a token. */
const FRESH_MS = 1000;
const MAX_CACHED = 5000;

const FIND = statement('auth.team-settings')`
  SELECT ${teamSettingsSql('t')} AS settings FROM headrace.teams t WHERE uid = $1`;

/** Settings of teams, for work that has no token. They may be a second old. */
@Injectable()
export class TeamDirectory {
  private readonly cache = new LRUCache<string, TeamSettings>({
    ...maxEntries(MAX_CACHED),
    ttl: FRESH_MS,
    ttlResolution: 0,
  });

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
    const [row] = await this.database.query<{ settings: TeamSettings }>(FIND, [teamUid]);
    const settings = row?.settings ?? INITIAL_TEAM_SETTINGS;
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
