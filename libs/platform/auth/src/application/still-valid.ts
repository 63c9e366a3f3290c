import type { Queryable } from '#platform/persistence';
import type { Role } from '../domain/roles.js';

/**
 * Whether a token or a session is still valid, after a change of its user that is not committed yet. A request was authenticated
 * before, and what it creates must not outlast the credential: when the owner of an e-mail address appears, for example, the
 * credentials of the person who has accepted an invitation to it end. `credentialUid` '': of no request.
 */
export async function isStillValid(tx: Queryable, credentialUid: string): Promise<boolean> {
  if (credentialUid === '') return true;
  await lockUser(tx, 'SELECT user_uid FROM headrace.tokens WHERE uid = $1', credentialUid);
  const valid = await tx.query('SELECT 1 FROM headrace.tokens WHERE uid = $1 AND revoked_at IS NULL FOR SHARE', [
    credentialUid,
  ]);
  return valid.length > 0;
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
