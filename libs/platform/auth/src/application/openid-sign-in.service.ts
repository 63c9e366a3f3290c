import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { Clock, newUid, toStorableText } from '#platform/kernel';
import { Database, type Queryable, type Transaction } from '#platform/persistence';
import { rolesOfGroups } from '../domain/group-roles.js';
import { returnPath } from '../domain/return-path.js';
import { hashToken } from '../domain/token.js';
import { EMAIL_ADDRESS } from '../domain/email-address.js';
import { type GroupChange, MembersService } from './members.service.js';
import { type OpenIdFailure, type OpenIdFlow, OpenIdProvider, type OpenIdUser } from './openid-provider.js';
import { type CreatedSession, type SessionOrigin, SessionsService } from './sessions.service.js';
import { UsersService } from './users.service.js';

/** `expired`: the browser has started no sign-in, or too long ago, or another one since. */
export type OpenIdRejection =
  | OpenIdFailure
  | 'expired'
  | 'unknown_user'
  | 'no_email'
  | 'email_not_verified'
  | 'email_taken'
  | 'disabled';

export interface OpenIdSignIn {
  readonly kind: 'signed_in';
  readonly created: CreatedSession;
  readonly identity: Pick<OpenIdUser, 'issuer' | 'subject'>;
  /** Whether the user, or the identity of an existing one, was created. */
  readonly userChange: 'created' | 'linked' | null;
  readonly groupChanges: readonly GroupChange[];
  readonly returnTo: string;
  readonly earlierSessionUid: string | null;
}

export type OpenIdResult = OpenIdSignIn | { readonly kind: OpenIdRejection };

type FoundUser =
  | { readonly kind: 'found'; readonly uid: string; readonly change: OpenIdSignIn['userChange'] }
  | { readonly kind: OpenIdRejection };

/** How long a user has for signing in at the provider. */
export const OPENID_SIGN_IN_MS = 10 * 60_000;
const COOKIE_BYTES = 32;
const MAX_EMAIL = 254;
const MAX_NAME = 200;
const MAX_SUBJECT = 255;

/** Signs browsers in with the OpenID provider of the settings (authorization code with PKCE). */
@Injectable()
export class OpenIdSignInService {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly settings: Settings,
    private readonly provider: OpenIdProvider,
    private readonly sessions: SessionsService,
    private readonly members: MembersService,
    private readonly users: UsersService,
  ) {}

  /** Resolves to where the browser is sent, and to the cookie that it must bring back. */
  async start(
    returnTo: unknown,
    earlierSessionUid: string | null,
  ): Promise<{ readonly url: URL; readonly cookie: string } | 'unreachable'> {
    const cookie = randomBytes(COOKIE_BYTES).toString('base64url');
    const url = await this.provider.authorizationUrl(flowOf(cookie));
    if (url === 'unreachable') return url;
    const now = this.clock.now();
    await this.database.query('DELETE FROM headrace.openid_sign_ins WHERE expires_at < $1', [now]);
    await this.database.query(
      `INSERT INTO headrace.openid_sign_ins (hash, return_to, earlier_session_uid, expires_at) VALUES ($1, $2, $3, $4)`,
      [hashToken(cookie), returnPath(returnTo), earlierSessionUid, new Date(now.getTime() + OPENID_SIGN_IN_MS)],
    );
    return { url, cookie };
  }

  /** Once for each cookie. `query`: that of the request with which the browser has returned. */
  async complete(cookie: string | undefined, query: string, origin: SessionOrigin): Promise<OpenIdResult> {
    if (cookie === undefined) return { kind: 'expired' };
    const flow = flowOf(cookie);
    // A request that another site has caused must not end the sign-in of the user.
    if (!isSameText(new URLSearchParams(query).get('state') ?? '', flow.state)) return { kind: 'expired' };
    const [started] = await this.database.query<{ returnTo: string; earlierSessionUid: string | null }>(
      `DELETE FROM headrace.openid_sign_ins WHERE hash = $1 AND expires_at > $2
       RETURNING return_to AS "returnTo", earlier_session_uid AS "earlierSessionUid"`,
      [hashToken(cookie), this.clock.now()],
    );
    if (!started) return { kind: 'expired' };
    const user = await this.provider.authenticate(query, flow);
    if (typeof user === 'string') return { kind: user };
    if (user.subject.length > MAX_SUBJECT || toStorableText(user.subject).changed) return { kind: 'invalid' };
    return this.database.transaction(async (tx) => {
      const found = await this.findUser(tx, user);
      if (found.kind !== 'found') return found;
      const created = await this.sessions.createByOpenId(tx, found.uid, origin);
      if (!created) return { kind: 'disabled' };
      const roles = rolesOfGroups(user.groups, this.settings.oidcGroupRoles);
      const groupChanges = await this.members.setGroupRoles(tx, found.uid, roles);
      return { kind: 'signed_in', created, identity: user, userChange: found.change, groupChanges, ...started };
    });
  }

  /** By the subject. An e-mail address may get another owner; it counts once, for the first sign-in. */
  private async findUser(tx: Transaction, user: OpenIdUser): Promise<FoundUser> {
    const { issuer, subject } = user;
    // Two first sign-ins of the same user are serialized here.
    await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`openid ${issuer} ${subject}`]);
    const [known] = await tx.query<{ user_uid: string }>(
      'SELECT user_uid FROM headrace.openid_identities WHERE issuer = $1 AND subject = $2',
      [issuer, subject],
    );
    if (known) return { kind: 'found', uid: known.user_uid, change: null };
    const email = user.email?.trim() ?? '';
    if (!EMAIL_ADDRESS.test(email) || email.length > MAX_EMAIL || toStorableText(email).changed)
      return { kind: 'no_email' };
    if (!user.isEmailVerified) return { kind: 'email_not_verified' };
    const [owner] = await tx.query<{ uid: string; email: string; is_disabled: boolean; is_linked: boolean }>(
      `SELECT u.uid, u.email, u.disabled_at IS NOT NULL AS is_disabled,
              EXISTS (SELECT 1 FROM headrace.openid_identities i WHERE i.user_uid = u.uid AND i.issuer = $2) AS is_linked
         FROM headrace.users u WHERE lower(u.email) = lower($1) FOR UPDATE`,
      [email, issuer],
    );
    // One of an earlier version, with another address.
    if (owner && !EMAIL_ADDRESS.test(owner.email)) return { kind: 'email_taken' };
    if (owner?.is_disabled === true) return { kind: 'disabled' };
    if (owner && (owner.is_linked || !this.settings.oidcLinkUsers)) return { kind: 'email_taken' };
    if (!owner && !this.settings.oidcCreateUsers) return { kind: 'unknown_user' };
    const uid = owner?.uid ?? (await this.createUser(tx, email, user.name));
    if (uid === null) return { kind: 'email_taken' };
    const linked = await tx.query(
      `INSERT INTO headrace.openid_identities (issuer, subject, user_uid) VALUES ($1, $2, $3)
       ON CONFLICT DO NOTHING RETURNING 1`,
      [issuer, subject, uid],
    );
    // Another subject with this address was linked meanwhile.
    if (linked.length === 0) return { kind: 'email_taken' };
    if (owner) await this.users.verifyAddress(tx, uid);
    return { kind: 'found', uid, change: owner ? 'linked' : 'created' };
  }

  /** Null: another user with this address was created meanwhile. */
  private async createUser(tx: Queryable, email: string, name: string | null): Promise<string | null> {
    const displayName = toStorableText(name ?? email)
      .text.slice(0, MAX_NAME)
      .toWellFormed();
    const [user] = await tx.query<{ uid: string }>(
      `INSERT INTO headrace.users (uid, email, display_name) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING uid`,
      [newUid(), email, displayName],
    );
    return user?.uid ?? null;
  }
}

/** From the cookie alone, so that the database contains nothing with which another browser could complete the sign-in. */
function flowOf(cookie: string): OpenIdFlow {
  const derive = (use: string): string => createHmac('sha256', cookie).update(use).digest('base64url');
  return { state: derive('state'), nonce: derive('nonce'), codeVerifier: derive('code verifier') };
}

function isSameText(given: string, wanted: string): boolean {
  const [first, second] = [Buffer.from(given), Buffer.from(wanted)];
  return first.length === second.length && timingSafeEqual(first, second);
}
