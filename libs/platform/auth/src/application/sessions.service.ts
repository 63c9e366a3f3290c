import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { BackgroundTasks, defineTask } from '#platform/jobs';
import { Clock, newUid } from '#platform/kernel';
import { Database, type Queryable } from '#platform/persistence';
import { displayPrefix, hashToken, isTokenShaped, newToken } from '../domain/token.js';
import { AccessChanges } from './token-authenticator.js';

export const SIGN_IN_METHODS = ['login_link', 'token'] as const;
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

const LOGIN_LINK_MS = 15 * 60_000;
const DELETE_AFTER = '7 days';
const COLUMNS = `uid, user_uid AS "userUid", method, address, user_agent AS "userAgent", created_at AS "createdAt",
  expires_at AS "expiresAt", last_used_at AS "lastUsedAt"`;

const DELETE_SESSIONS_TASK = defineTask({
  name: 'delete-sessions',
  library: 'auth',
  process: 'api',
  scope: 'process',
  period: 3_600_000,
  description: 'Deletes sessions of browsers and links to sign in a week after they have expired.',
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

  /** Null: there is no such user, or it is disabled. */
  create(
    userUid: string,
    method: SignInMethod,
    origin: SessionOrigin,
    tx: Queryable = this.database,
  ): Promise<CreatedSession | null> {
    return this.insert(tx, { userUid, method, origin, kind: 'session', ttlMs: this.settings.sessionTtl });
  }

  /** The code of a link that creates one session, within fifteen minutes. Null: as {@link create}. */
  async createLoginCode(userUid: string): Promise<{ readonly code: string; readonly expiresAt: Date } | null> {
    const origin = { address: null, userAgent: null };
    const created = await this.insert(this.database, {
      userUid,
      method: null,
      origin,
      kind: 'login_link',
      ttlMs: LOGIN_LINK_MS,
    });
    return created && { code: created.value, expiresAt: created.session.expiresAt };
  }

  /** Null: the code is unknown, was used, or has expired; or its user is disabled. */
  redeemLoginCode(code: string, origin: SessionOrigin): Promise<CreatedSession | null> {
    if (!isTokenShaped(code, 'login_link')) return Promise.resolve(null);
    return this.database.transaction(async (tx) => {
      const [link] = await tx.query<{ user_uid: string }>(
        `UPDATE headrace.tokens SET revoked_at = $2
          WHERE hash = $1 AND kind = 'login_link' AND revoked_at IS NULL AND expires_at > $2 RETURNING user_uid`,
        [hashToken(code), this.clock.now()],
      );
      return link ? this.create(link.user_uid, 'login_link', origin, tx) : null;
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
    await this.database.query(
      `UPDATE headrace.tokens SET revoked_at = coalesce(revoked_at, $2) WHERE uid = $1 AND kind = 'session'`,
      [uid, this.clock.now()],
    );
    await this.changes.announce(this.database);
  }

  /** Resolves to the number of deleted rows. */
  async deleteExpired(): Promise<number> {
    const rows = await this.database.query(
      `DELETE FROM headrace.tokens WHERE kind <> 'api' AND expires_at < $1::timestamptz - $2::interval RETURNING 1`,
      [this.clock.now(), DELETE_AFTER],
    );
    return rows.length;
  }

  private async insert(
    tx: Queryable,
    {
      userUid,
      method,
      origin,
      kind,
      ttlMs,
    }: {
      readonly userUid: string;
      readonly method: SignInMethod | null;
      readonly origin: { readonly address: string | null; readonly userAgent: string | null };
      readonly kind: 'session' | 'login_link';
      readonly ttlMs: number;
    },
  ): Promise<CreatedSession | null> {
    const value = newToken(kind);
    const expiresAt = new Date(this.clock.now().getTime() + ttlMs);
    const [session] = await tx.query<Session>(
      `INSERT INTO headrace.tokens (uid, hash, prefix, name, user_uid, expires_at, kind, method, address, user_agent)
       SELECT $1, $2, $3, $4, uid, $6, $4, $7, $8, $9 FROM headrace.users WHERE uid = $5 AND disabled_at IS NULL
       RETURNING ${COLUMNS}`,
      [
        ...[newUid(), hashToken(value), displayPrefix(value), kind, userUid, expiresAt],
        ...[method, origin.address, origin.userAgent],
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
