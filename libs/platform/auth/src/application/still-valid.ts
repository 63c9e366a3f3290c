import type { Queryable } from '#platform/persistence';
import type { PrincipalRef } from './principal-directory.js';
import { can, type Role } from '../domain/roles.js';

/**
 * Whether a token or a session is still valid, after a change of its user that is not committed yet. A request was authenticated
 * before, and what it creates must not outlast the credential: when the owner of an e-mail address appears, for example, the
 * credentials of the person who has accepted an invitation to it end. `credentialUid` '': of no request.
 */
export async function isStillValid(tx: Queryable, credentialUid: string): Promise<boolean> {
  if (credentialUid === '') return true;
  await lockUser(tx, 'SELECT user_uid FROM headrace.tokens WHERE uid = $1', credentialUid);
  const valid = await tx.query(
    `SELECT 1 FROM headrace.tokens t
       LEFT JOIN headrace.users u ON u.uid = t.user_uid
       LEFT JOIN headrace.service_accounts s ON s.uid = t.service_account_uid
      WHERE t.uid = $1 AND t.revoked_at IS NULL AND u.disabled_at IS NULL AND s.disabled_at IS NULL FOR SHARE OF t`,
    [credentialUid],
  );
  return valid.length > 0;
}

/**
 * Whether the user of a credential may still create credentials of the owner: of themselves, as an administrator of the
 * installation those of all users, and with the permission those of the service accounts of a team. `credentialUid`: see
 * {@link isStillValid}.
 */
export async function mayCreateCredential(tx: Queryable, credentialUid: string, owner: PrincipalRef): Promise<boolean> {
  if (credentialUid === '') return true;
  if (!(await isStillValid(tx, credentialUid))) return false;
  if (owner.type === 'user') {
    return maySignIn(await currentAccess(tx, credentialUid), owner.uid);
  }
  const [account] = await tx.query<{ team_uid: string }>(
    'SELECT team_uid FROM headrace.service_accounts WHERE uid = $1',
    [owner.uid],
  );
  const role = account && (await currentAccess(tx, credentialUid, account.team_uid))?.role;
  return role !== undefined && role !== null && can(role, 'tokens:manage');
}

/**
 * First the user, as all changes of a user do: the next statement sees what was committed meanwhile. `select`: of the UID of the
 * user by the key.
 */
export async function lockUser(tx: Queryable, select: string, key: string | Buffer): Promise<void> {
  await tx.query(`SELECT 1 FROM headrace.users WHERE uid = (${select}) FOR NO KEY UPDATE`, [key]);
}

/** What a user may do now. */
export interface CurrentAccess {
  readonly userUid: string;
  readonly isAdministrator: boolean;
  /** On the team; null: no member of it. */
  readonly role: Role | null;
}

/**
 * After a request has waited for a lock: the user of its credential, whose access another request may have ended meanwhile. Null:
 * the credential is not valid any more, or belongs to no user.
 */
export async function currentAccess(
  tx: Queryable,
  credentialUid: string,
  teamUid: string | null = null,
): Promise<CurrentAccess | null> {
  const [access] = await tx.query<CurrentAccess>(
    `SELECT u.uid AS "userUid", u.is_administrator AS "isAdministrator", m.role
       FROM headrace.tokens t
       JOIN headrace.users u ON u.uid = t.user_uid
       LEFT JOIN headrace.memberships m ON m.user_uid = u.uid AND m.team_uid = $2
      WHERE t.uid = $1 AND t.revoked_at IS NULL AND u.disabled_at IS NULL`,
    [credentialUid, teamUid],
  );
  return access ?? null;
}

/** Whether credentials of the user may be created with this access: of themselves, or as an administrator of the installation. */
export const maySignIn = (access: CurrentAccess | null, userUid: string): boolean =>
  access !== null && (access.userUid === userUid || access.isAdministrator);

/** Who manages the members of a team. */
export interface Actor {
  /** Null: a command of the server. */
  readonly userUid: string | null;
  readonly mayManage: boolean;
  readonly mayManageOwners: boolean;
  /** An administrator of the installation, or a command of the server. */
  readonly isUnlimited: boolean;
}

/** For after the lock of the team: another request may have removed the member who has sent this one. */
export async function actorOf(tx: Queryable, teamUid: string, credentialUid: string | null): Promise<Actor> {
  if (credentialUid === null) return { userUid: null, mayManage: true, mayManageOwners: true, isUnlimited: true };
  const access = await currentAccess(tx, credentialUid, teamUid);
  const role = access?.role ?? null;
  const isUnlimited = access?.isAdministrator === true;
  return {
    userUid: access?.userUid ?? null,
    mayManage: isUnlimited || (role !== null && can(role, 'members:manage')),
    mayManageOwners: isUnlimited || role === 'owner',
    isUnlimited,
  };
}
