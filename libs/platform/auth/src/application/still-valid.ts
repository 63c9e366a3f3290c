import type { Queryable } from '#platform/persistence';

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
