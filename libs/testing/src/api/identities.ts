import { createHash, randomBytes } from 'node:crypto';
import type { Role } from '#platform/auth';
import { base62, newUid } from '#platform/kernel';
import type { TestDatabase } from '../database/test-database.js';

export interface TestPrincipal {
  readonly type: 'user' | 'service_account';
  readonly uid: string;
  /** A live token. */
  readonly token: string;
}

export interface TokenShape {
  /** `expired`: an hour ago. `revoked`: a moment ago. Default: live, without expiry. */
  readonly state?: 'live' | 'expired' | 'revoked';
  readonly expiresAt?: Date;
}

/**
 * Teams, people, service accounts and tokens, straight into the database:
 *
 *   const team = await identities.team();
 *   const viewer = await identities.user({ [team]: 'viewer' });
 *   const bot = await identities.serviceAccount(team);
 *   const old = await identities.token(viewer, { state: 'expired' });
 */
export class TestIdentities {
  constructor(private readonly database: TestDatabase) {}

  /** Returns its uid. */
  async team(name = 'Team'): Promise<string> {
    const uid = newUid();
    await this.database.query('INSERT INTO headrace.teams (uid, name) VALUES ($1, $2)', [uid, name]);
    return uid;
  }

  /** `memberships`: role by team uid. */
  async user(memberships: Readonly<Record<string, Role>> = {}, displayName = 'Somebody'): Promise<TestPrincipal> {
    const uid = newUid();
    await this.database.query(
      `WITH person AS (INSERT INTO headrace.users (uid, email, display_name) VALUES ($1, $2, $3))
       INSERT INTO headrace.memberships (team_uid, user_uid, role) SELECT team_uid, $1, role
         FROM unnest($4::text[], $5::text[]) AS membership (team_uid, role)`,
      [uid, `${uid}@example.test`, displayName, Object.keys(memberships), Object.values(memberships)],
    );
    return { type: 'user', uid, token: await this.token({ type: 'user', uid }) };
  }

  /** Of the installation. */
  async administrator(memberships: Readonly<Record<string, Role>> = {}): Promise<TestPrincipal> {
    const user = await this.user(memberships, 'Administrator');
    await this.database.query('UPDATE headrace.users SET is_administrator = true WHERE uid = $1', [user.uid]);
    return user;
  }

  async serviceAccount(teamUid: string, name = 'bot'): Promise<TestPrincipal> {
    const uid = newUid();
    await this.database.query('INSERT INTO headrace.service_accounts (uid, team_uid, name) VALUES ($1, $2, $3)', [
      uid,
      teamUid,
      name,
    ]);
    return { type: 'service_account', uid, token: await this.token({ type: 'service_account', uid }) };
  }

  /** Another token of a principal. */
  async token(
    { type, uid }: Pick<TestPrincipal, 'type' | 'uid'>,
    { state = 'live', expiresAt }: TokenShape = {},
  ): Promise<string> {
    const token = `hr_${base62(randomBytes(32), 43)}`;
    await this.database.query(
      `INSERT INTO headrace.tokens (uid, hash, prefix, name, ${type === 'user' ? 'user_uid' : 'service_account_uid'}, expires_at, revoked_at)
       VALUES ($1, $2, $3, 'test', $4,
         CASE WHEN $5 = 'expired' THEN headrace.now() - interval '1 hour' ELSE $6::timestamptz END,
         CASE WHEN $5 = 'revoked' THEN headrace.now() END)`,
      [newUid(), createHash('sha256').update(token).digest(), `${token.slice(0, 7)}…`, uid, state, expiresAt ?? null],
    );
    return token;
  }
}
