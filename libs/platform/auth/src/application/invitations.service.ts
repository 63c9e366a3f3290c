import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { Clock, newUid, type RejectionOf } from '#platform/kernel';
import { Database, type Queryable, writtenRow } from '#platform/persistence';
import { hashToken, isTokenShaped, newToken } from '../domain/token.js';
import type { Principal } from '../domain/principal.js';
import { can, type Role } from '../domain/roles.js';
import { type CreatedSession, type SessionOrigin, SessionsService } from './sessions.service.js';
import { actorOf, isStillValid } from './still-valid.js';
import { AccessChanges } from './token-authenticator.js';

export interface Invitation {
  readonly uid: string;
  readonly teamUid: string;
  readonly teamName: string;
  readonly email: string;
  readonly role: Role;
  readonly createdBy: { readonly uid: string; readonly displayName: string };
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

export type CreateInvitationResult =
  | { readonly kind: 'created'; readonly invitation: Invitation; readonly code: string }
  | { readonly kind: 'already_a_member' | 'owner_required' | 'forbidden' }
  | RejectionOf<'not_found' | 'limit_reached'>;

export interface AcceptedInvitation {
  readonly kind: 'accepted';
  readonly invitation: Invitation;
  readonly session: CreatedSession;
  readonly userUid: string;
  readonly isNewUser: boolean;
}

export type AcceptInvitationResult =
  | AcceptedInvitation
  /** `invalid`: unknown, used, expired, or of a person who may not invite any more. */
  | { readonly kind: 'invalid' }
  /** A user with this e-mail address exists, and the browser is not signed in as this user. */
  | { readonly kind: 'sign_in_required' };

/** The code is in the fragment, which neither the server nor a proxy sees. */
export const invitationUrl = ({ publicUrl }: Pick<Settings, 'publicUrl'>, code: string): string =>
  `${publicUrl}/console/invitation#code=${code}`;

export const MAX_INVITATIONS = 100;
const TTL_MS = 7 * 24 * 60 * 60_000;

const COLUMNS = `i.uid, i.team_uid AS "teamUid", t.name AS "teamName", i.email, i.role,
  json_build_object('uid', u.uid, 'displayName', u.display_name) AS "createdBy",
  i.created_at AS "createdAt", i.expires_at AS "expiresAt"`;
const FROM = `headrace.invitations i JOIN headrace.teams t ON t.uid = i.team_uid JOIN headrace.users u ON u.uid = i.created_by`;

/**
 * Invitations to teams by a link, which the person who invites hands over. The link creates a user; it never signs in as a
 * user who exists, because the person who invites has it, too.
 */
@Injectable()
export class InvitationsService {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly changes: AccessChanges,
    private readonly sessions: SessionsService,
  ) {}

  /** Replaces an earlier invitation of the same address to the team, whose link is not valid any more. `credentialUid`: of the request. */
  create(
    {
      teamUid,
      email,
      role,
      createdBy,
    }: Pick<Invitation, 'teamUid' | 'email' | 'role'> & { readonly createdBy: string },
    credentialUid: string,
  ): Promise<CreateInvitationResult> {
    return this.database.transaction(async (tx): Promise<CreateInvitationResult> => {
      // The user of the credential first: what the person has created ends with the access of the person.
      if (!(await isStillValid(tx, credentialUid))) return { kind: 'forbidden' };
      // Serializes the invitations of a team, so that the limit is exact.
      const [team] = await tx.query('SELECT 1 FROM headrace.teams WHERE uid = $1 FOR NO KEY UPDATE', [teamUid]);
      if (!team) return { kind: 'not_found' };
      const actor = await actorOf(tx, teamUid, credentialUid);
      if (!actor.mayManage) return { kind: 'forbidden' };
      if (role === 'owner' && !actor.mayManageOwners) return { kind: 'owner_required' };
      const [member] = await tx.query(
        `SELECT 1 FROM headrace.memberships m JOIN headrace.users u ON u.uid = m.user_uid
          WHERE m.team_uid = $1 AND lower(u.email) = lower($2)`,
        [teamUid, email],
      );
      if (member) return { kind: 'already_a_member' };
      const now = this.clock.now();
      await tx.query(
        'DELETE FROM headrace.invitations WHERE team_uid = $1 AND (lower(email) = lower($2) OR expires_at <= $3)',
        [teamUid, email, now],
      );
      const [open] = await tx.query<{ count: number }>(
        'SELECT count(*)::int AS count FROM headrace.invitations WHERE team_uid = $1',
        [teamUid],
      );
      if ((open?.count ?? 0) >= MAX_INVITATIONS) return { kind: 'limit_reached', limit: MAX_INVITATIONS };
      const code = newToken('invitation');
      const uid = newUid();
      await tx.query(
        `INSERT INTO headrace.invitations (uid, hash, team_uid, email, role, created_by, created_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
        [uid, hashToken(code), teamUid, email, role, createdBy, now, new Date(now.getTime() + TTL_MS)],
      );
      const rows = await tx.query<Invitation>(`SELECT ${COLUMNS} FROM ${FROM} WHERE i.uid = $1`, [uid]);
      return { kind: 'created', invitation: writtenRow(rows), code };
    });
  }

  /** Those that can be accepted, by e-mail address, after `afterEmail`. */
  list(teamUid: string, afterEmail: string | null, limit: number): Promise<Invitation[]> {
    return this.database.query<Invitation>(
      `SELECT ${COLUMNS} FROM ${FROM}
        WHERE i.team_uid = $1 AND i.expires_at > $2 AND ($3::text IS NULL OR lower(i.email) > lower($3))
        ORDER BY lower(i.email) LIMIT $4`,
      [teamUid, this.clock.now(), afterEmail, limit],
    );
  }

  /** False when there is none. */
  async delete(teamUid: string, uid: string): Promise<boolean> {
    const rows = await this.database.query(
      'DELETE FROM headrace.invitations WHERE team_uid = $1 AND uid = $2 RETURNING 1',
      [teamUid, uid],
    );
    return rows.length > 0;
  }

  /** Null: the code is unknown, was used, has expired, or is of a person who may not invite any more. */
  find(code: string): Promise<Invitation | null> {
    return this.findIn(this.database, code, '');
  }

  /** `signedInAs`: the user and the session of the browser. A member keeps the role. */
  accept(
    code: string,
    displayName: string | null,
    signedInAs: Pick<Principal, 'uid' | 'tokenUid'> | null,
    origin: SessionOrigin,
  ): Promise<AcceptInvitationResult> {
    return this.database.transaction(async (tx): Promise<AcceptInvitationResult> => {
      const isSignedIn = signedInAs !== null && (await isStillValid(tx, signedInAs.tokenUid));
      const invitation = await this.findIn(tx, code, 'FOR UPDATE OF i');
      if (!invitation) return { kind: 'invalid' };
      const { uid, teamUid, email, role } = invitation;
      const made = await tx.query<{ uid: string }>(
        `INSERT INTO headrace.users (uid, email, display_name, is_email_verified) VALUES ($1, $2, $3, false)
         ON CONFLICT DO NOTHING RETURNING uid`,
        [newUid(), email, displayName ?? email],
      );
      const userUid = made[0]?.uid ?? (await userWith(tx, email));
      if (made.length === 0 && !(isSignedIn && userUid === signedInAs.uid)) return { kind: 'sign_in_required' };
      await tx.query(
        'INSERT INTO headrace.memberships (team_uid, user_uid, role) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
        [teamUid, userUid, role],
      );
      await tx.query('DELETE FROM headrace.invitations WHERE uid = $1', [uid]);
      const session = await this.sessions.createByInvitation(tx, userUid, uid, origin);
      if (!session) throw new Error('A user who is signed in, or was just created, is disabled.');
      await this.changes.announce(tx);
      return { kind: 'accepted', invitation, session, userUid, isNewUser: made.length > 0 };
    });
  }

  private async findIn(queryable: Queryable, code: string, lock: string): Promise<Invitation | null> {
    if (!isTokenShaped(code, 'invitation')) return null;
    const [found] = await queryable.query<
      Invitation & {
        readonly creatorRole: Role | null;
        readonly isAdministrator: boolean;
        readonly isDisabled: boolean;
      }
    >(
      `SELECT ${COLUMNS}, u.is_administrator AS "isAdministrator", u.disabled_at IS NOT NULL AS "isDisabled",
              (SELECT m.role FROM headrace.memberships m WHERE m.team_uid = i.team_uid AND m.user_uid = u.uid) AS "creatorRole"
         FROM ${FROM} WHERE i.hash = $1 AND i.expires_at > $2 ${lock}`,
      [hashToken(code), this.clock.now()],
    );
    if (!found) return null;
    const { creatorRole, isAdministrator, isDisabled, ...invitation } = found;
    // A link must not outlast the right to invite of the person who has made it.
    const mayInvite =
      isAdministrator ||
      (creatorRole !== null &&
        can(creatorRole, 'members:manage') &&
        (invitation.role !== 'owner' || creatorRole === 'owner'));
    return mayInvite && !isDisabled ? invitation : null;
  }
}

async function userWith(tx: Queryable, email: string): Promise<string> {
  return writtenRow(
    await tx.query<{ uid: string }>('SELECT uid FROM headrace.users WHERE lower(email) = lower($1)', [email]),
  ).uid;
}
