import type { Queryable } from '#platform/persistence';

/**
 * Whether a token or a session is still valid, after a change of its user that is not committed yet. A request was authenticated
 * before, and what it creates must not outlast the credential: when the owner of an e-mail address appears, for example, the
 * credentials of the person who has accepted an invitation to it end. `credentialUid` '': of no request.
 */
export async function isStillValid(tx: Queryable, credentialUid: string): Promise<boolean> {
  if (credentialUid === '') return true;
  // First the user, as all changes of a user do. The second statement sees what was committed meanwhile.
  await tx.query(
    `SELECT 1 FROM headrace.users WHERE uid = (SELECT user_uid FROM headrace.tokens WHERE uid = $1) FOR NO KEY UPDATE`,
    [credentialUid],
  );
  const valid = await tx.query('SELECT 1 FROM headrace.tokens WHERE uid = $1 AND revoked_at IS NULL FOR SHARE', [
    credentialUid,
  ]);
  return valid.length > 0;
}
