import { Injectable } from '@nestjs/common';
import { Database, statement } from '#platform/persistence';
import type { Membership, Principal, TeamSettings } from '../domain/principal.js';
import { SERVICE_ACCOUNT_ROLE } from '../domain/roles.js';
import type { TokenKind } from '../domain/token.js';

export interface KnownToken {
  readonly principal: Principal;
  readonly expiresAt: Date | null;
  readonly revoked: boolean;
  readonly kind: TokenKind;
}

interface Row {
  kind: TokenKind;
  token_uid: string;
  expires_at: Date | null;
  revoked: boolean;
  user_uid: string | null;
  display_name: string | null;
  email: string | null;
  is_administrator: boolean | null;
  service_account_uid: string | null;
  service_account_name: string | null;
  is_agent_identity: boolean | null;
  team_uid: string | null;
  team: TeamSettings | null;
  memberships: Membership[] | null;
}

export const teamSettingsSql = (team: string): string => `json_build_object(
    'defaultModelId', ${team}.default_model_id, 'defaultWorkerHost', ${team}.default_worker_host,
    'features', json_build_object('metadata_filter', ${team}.metadata_filter, 'schedules', ${team}.schedules))`;

/** A user's memberships as JSON, the oldest first; null without any. */
export const membershipsSql = (userUid: string): string => `(
  SELECT json_agg(json_build_object('teamUid', m.team_uid, 'role', m.role, 'team', ${teamSettingsSql('mt')})
      ORDER BY m.created_at, m.team_uid)
    FROM headrace.memberships m JOIN headrace.teams mt ON mt.uid = m.team_uid
    WHERE m.user_uid = ${userUid})`;

const FIND = statement('auth_find_token')`
  SELECT t.uid AS token_uid, t.kind, t.expires_at, t.revoked_at IS NOT NULL OR s.disabled_at IS NOT NULL OR u.disabled_at IS NOT NULL AS revoked,
  u.uid AS user_uid, u.display_name, u.email, u.is_administrator,
  s.uid AS service_account_uid, s.name AS service_account_name, s.is_agent_identity, s.team_uid,
  CASE WHEN st.uid IS NOT NULL THEN ${teamSettingsSql('st')} END AS team,
  ${membershipsSql('t.user_uid')} AS memberships
FROM headrace.tokens t
LEFT JOIN headrace.users u ON u.uid = t.user_uid
LEFT JOIN headrace.service_accounts s ON s.uid = t.service_account_uid
LEFT JOIN headrace.teams st ON st.uid = s.team_uid
WHERE t.hash = $1`;

const TOUCH = statement('auth_touch_tokens')`
  UPDATE headrace.tokens SET last_used_at = headrace.now() WHERE uid = ANY($1::text[])`;

const ENDED = statement('auth_ended_tokens')`
  SELECT asked.uid FROM unnest($1::text[]) AS asked (uid)
LEFT JOIN headrace.tokens t ON t.uid = asked.uid
LEFT JOIN headrace.users u ON u.uid = t.user_uid
LEFT JOIN headrace.service_accounts s ON s.uid = t.service_account_uid
WHERE t.uid IS NULL OR t.revoked_at IS NOT NULL OR t.expires_at <= headrace.now()
  OR u.disabled_at IS NOT NULL OR s.disabled_at IS NOT NULL`;

/** Queries of authentication, which run for every request and are therefore prepared statements. */
@Injectable()
export class TokenQueries {
  constructor(private readonly database: Database) {}

  async findByHash(hash: Buffer): Promise<KnownToken | null> {
    const [row] = await this.database.query<Row>(FIND, [hash]);
    if (!row) return null;
    const principal = toPrincipal(row);
    return principal && { principal, expiresAt: row.expires_at, revoked: row.revoked, kind: row.kind };
  }

  /** The tokens that are unknown, revoked, expired, or of a disabled user or service account. */
  async findEnded(tokenUids: readonly string[]): Promise<string[]> {
    const rows = await this.database.query<{ uid: string }>(ENDED, [tokenUids]);
    return rows.map(({ uid }) => uid);
  }

  async markUsed(tokenUids: readonly string[]): Promise<void> {
    await this.database.query(TOUCH, [tokenUids]);
  }
}

function toPrincipal(row: Row): Principal | null {
  if (row.user_uid !== null) {
    return {
      type: 'user',
      uid: row.user_uid,
      displayName: row.display_name ?? '',
      ...(row.email === null ? {} : { email: row.email }),
      ...(row.is_administrator === true ? { isAdministrator: true } : {}),
      memberships: row.memberships ?? [],
      tokenUid: row.token_uid,
    };
  }
  if (row.service_account_uid === null || row.team_uid === null || row.team === null) return null;
  return {
    type: 'service_account',
    uid: row.service_account_uid,
    displayName: row.service_account_name ?? '',
    ...(row.is_agent_identity === true ? { isAgentIdentity: true } : {}),
    memberships: [{ teamUid: row.team_uid, role: SERVICE_ACCOUNT_ROLE, team: row.team }],
    tokenUid: row.token_uid,
  };
}
