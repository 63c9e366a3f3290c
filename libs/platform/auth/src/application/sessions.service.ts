import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { BackgroundTasks, defineTask } from '#platform/jobs';
import { Clock, newUid } from '#platform/kernel';
import { Database, type Queryable } from '#platform/persistence';
import { displayPrefix, hashToken, isTokenShaped, newToken } from '../domain/token.js';
import type { Principal } from '../domain/principal.js';
import { currentAccess, isStillValid, lockUser, mayCreateCredential, maySignIn } from './still-valid.js';
import { AccessChanges } from './token-authenticator.js';

export const SIGN_IN_METHODS = ['login_link', 'token', 'openid', 'invitation'] as const;
export type SignInMethod = (typeof SIGN_IN_METHODS)[number];

/** Where a browser is, for the list of sessions. */
export interface SessionOrigin {
  readonly address: string;
  readonly userAgent: string | null;
}

export interface Session {
  readonly uid: string;
  readonly userUid: string;
  readonly method: SignInMethod;
  /** UID of the token or the link; null: the user signed in at a provider. */
  readonly createdWith: string | null;
  readonly address: string | null;
  readonly userAgent: string | null;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  /** Exact to about a minute. */
  readonly lastUsedAt: Date | null;
}

export interface CreatedSession {
  /** For the cookie, which is the only place where it is. */
  readonly value: string;
  readonly session: Session;
}

/** The code is in the fragment, which neither the server nor a proxy sees. */
export const loginUrl = ({ publicUrl }: Pick<Settings, 'publicUrl'>, code: string): string =>
  `${publicUrl}/console/sign-in#code=${code}`;

export const MAX_SESSIONS = 100;
/** Links of a user that were not used yet: with another one, the oldest is not valid any more. */
export const MAX_LOGIN_LINKS = 10;
const LOGIN_LINK_MS = 15 * 60_000;
const DELETE_AFTER = '7 days';
const COLUMNS = `uid, user_uid AS "userUid", method, created_with AS "createdWith", address, user_agent AS "userAgent", created_at AS "createdAt",
  expires_at AS "expiresAt", last_used_at AS "lastUsedAt"`;

const DELETE_SESSIONS_TASK = defineTask({
  name: 'delete-sessions',
  library: 'auth',
  process: 'api',
  scope: 'process',
  period: 3_600_000,
  description: 'Deletes sessions of browsers, links to sign in and invitations a week after they have expired.',
});

/** Sessions of browsers, and links that create one. Both are tokens of another kind. */
@Injectable()
export class SessionsService {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly changes: AccessChanges,
    private readonly settings: Settings,
  ) {}

  /** Of the user of a token, with which it ends. Null: the user is disabled. */
  create(
    { uid, tokenUid }: Pick<Principal, 'uid' | 'tokenUid'>,
    origin: SessionOrigin,
  ): Promise<CreatedSession | null> {
    return this.database.transaction(async (tx) =>
      (await isStillValid(tx, tokenUid)) ? this.createIn(tx, uid, 'token', tokenUid, origin) : null,
    );
  }

  /** Of a user whom an OpenID provider has authenticated. Null: as {@link create}. */
  createByOpenId(tx: Queryable, userUid: string, origin: SessionOrigin): Promise<CreatedSession | null> {
    return this.createIn(tx, userUid, 'openid', null, origin);
  }

  /** Of a user who has accepted an invitation. Null: as {@link create}. */
  createByInvitation(
    tx: Queryable,
    userUid: string,
    invitationUid: string,
    origin: SessionOrigin,
  ): Promise<CreatedSession | null> {
    return this.createIn(tx, userUid, 'invitation', invitationUid, origin);
  }

  /** A user has at most {@link MAX_SESSIONS}: the oldest ones end. */
  private async createIn(
    tx: Queryable,
    userUid: string,
    method: SignInMethod,
    createdWith: string | null,
    origin: SessionOrigin,
  ): Promise<CreatedSession | null> {
    const ttlMs = this.settings.sessionTtl;
    const created = await this.insert(tx, { userUid, method, createdWith, origin, kind: 'session', ttlMs });
    await tx.query(
      `UPDATE headrace.tokens SET revoked_at = $2 WHERE uid IN (
         SELECT uid FROM headrace.tokens WHERE user_uid = $1 AND kind = 'session' AND revoked_at IS NULL AND expires_at > $2
          ORDER BY created_at DESC, uid OFFSET ${MAX_SESSIONS})`,
      [userUid, this.clock.now()],
    );
    return created;
  }

  /**
   * The code of a link that creates one session, within fifteen minutes and while the credential of the request (`credentialUid`) may
   * create it. Null: as {@link create}.
   */
  createLoginCode(
    userUid: string,
    credentialUid = '',
  ): Promise<{ readonly uid: string; readonly code: string; readonly expiresAt: Date } | null> {
    return this.database.transaction(async (tx) => {
      if (!(await mayCreateCredential(tx, credentialUid, { type: 'user', uid: userUid }))) return null;
      const origin = { address: null, userAgent: null };
      const created = await this.insert(tx, {
        userUid,
        method: null,
        createdWith: credentialUid || null,
        origin,
        kind: 'login_link',
        ttlMs: LOGIN_LINK_MS,
      });
      await tx.query(
        `UPDATE headrace.tokens SET revoked_at = $2 WHERE uid IN (
         SELECT uid FROM headrace.tokens WHERE user_uid = $1 AND kind = 'login_link' AND revoked_at IS NULL AND expires_at > $2
          ORDER BY created_at DESC, uid OFFSET ${MAX_LOGIN_LINKS})`,
        [userUid, this.clock.now()],
      );
      return created && { uid: created.session.uid, code: created.value, expiresAt: created.session.expiresAt };
    });
  }

  /** Null: the code is unknown, was used, or has expired; or its user is disabled. */
  redeemLoginCode(code: string, origin: SessionOrigin): Promise<CreatedSession | null> {
    if (!isTokenShaped(code, 'login_link')) return Promise.resolve(null);
    return this.database.transaction(async (tx) => {
      await lockUser(tx, 'SELECT user_uid FROM headrace.tokens WHERE hash = $1', hashToken(code));
      const [link] = await tx.query<{ uid: string; user_uid: string; created_with: string | null }>(
        `UPDATE headrace.tokens SET revoked_at = $2
          WHERE hash = $1 AND kind = 'login_link' AND revoked_at IS NULL AND expires_at > $2 RETURNING uid, user_uid, created_with`,
        [hashToken(code), this.clock.now()],
      );
      if (!link) return null;
      const { uid, user_uid: userUid, created_with: createdWith } = link;
      if (createdWith !== null && !maySignIn(await currentAccess(tx, createdWith), userUid)) return null;
      return this.createIn(tx, userUid, 'login_link', uid, origin);
    });
  }

  /** Of a user, those that are valid, the newest first. */
  list(userUid: string, limit: number): Promise<Session[]> {
    return this.database.query<Session>(
      `SELECT ${COLUMNS} FROM headrace.tokens
        WHERE user_uid = $1 AND kind = 'session' AND revoked_at IS NULL AND expires_at > $2
        ORDER BY created_at DESC, uid LIMIT $3`,
      [userUid, this.clock.now(), limit],
    );
  }

  async find(uid: string): Promise<Session | null> {
    const [session] = await this.database.query<Session>(
      `SELECT ${COLUMNS} FROM headrace.tokens WHERE uid = $1 AND kind = 'session' AND revoked_at IS NULL`,
      [uid],
    );
    return session ?? null;
  }

  async revoke(uid: string): Promise<void> {
    await this.database.transaction(async (tx) => {
      await tx.query(
        `UPDATE headrace.tokens SET revoked_at = coalesce(revoked_at, $2) WHERE uid = $1 AND kind = 'session'`,
        [uid, this.clock.now()],
      );
      await this.changes.announce(tx);
    });
  }

  /** Resolves to the number of deleted rows. */
  async deleteExpired(): Promise<number> {
    const rows = await this.database.query(
      `DELETE FROM headrace.tokens WHERE kind <> 'api' AND expires_at < $1::timestamptz - $2::interval RETURNING 1`,
      [this.clock.now(), DELETE_AFTER],
    );
    const invitations = await this.database.query(
      'DELETE FROM headrace.invitations WHERE expires_at < $1::timestamptz - $2::interval RETURNING 1',
      [this.clock.now(), DELETE_AFTER],
    );
    return rows.length + invitations.length;
  }

  private async insert(
    tx: Queryable,
    {
      userUid,
      method,
      createdWith,
      origin,
      kind,
      ttlMs,
    }: {
      readonly userUid: string;
      readonly method: SignInMethod | null;
      readonly createdWith: string | null;
      readonly origin: { readonly address: string | null; readonly userAgent: string | null };
      readonly kind: 'session' | 'login_link';
      readonly ttlMs: number;
    },
  ): Promise<CreatedSession | null> {
    const value = newToken(kind);
    const expiresAt = new Date(this.clock.now().getTime() + ttlMs);
    const [session] = await tx.query<Session>(
      `INSERT INTO headrace.tokens (uid, hash, prefix, name, user_uid, expires_at, kind, method, address, user_agent, created_with)
       SELECT $1, $2, $3, $4, uid, least($6, (SELECT t.expires_at FROM headrace.tokens t WHERE t.uid = $10 AND t.kind = 'api')),
              $4, $7, $8, $9, $10
         FROM headrace.users WHERE uid = $5 AND disabled_at IS NULL
       RETURNING ${COLUMNS}`,
      [
        ...[newUid(), hashToken(value), displayPrefix(value), kind, userUid, expiresAt],
        ...[method, origin.address, origin.userAgent, createdWith],
      ],
    );
    return session ? { value, session } : null;
  }
}

/** Deletes what has expired. Its own class, because commands of the server use the sessions, too. */
@Injectable()
export class DeleteSessions {
  constructor(sessions: SessionsService, tasks: BackgroundTasks) {
    tasks.implement(DELETE_SESSIONS_TASK, async () => {
      await sessions.deleteExpired();
    });
  }
}
