import { invalidInput } from '#platform/http';
import type { NamedGrantee } from '../application/environment-grants.js';
import type { GrantEnvironmentRequest } from './environment-sharing.dto.js';

/** Whom a request names, and by which of its fields. Refuses one that names nobody, or several. */
export function readGrantee(body: GrantEnvironmentRequest): { readonly pointer: string; readonly named: NamedGrantee } {
  const { user_uid: userUid, user_email: userEmail, team_uid: teamUid } = body;
  const given = [
    ...(userUid === undefined ? [] : [{ pointer: '/user_uid', named: { userUid } }]),
    ...(userEmail === undefined ? [] : [{ pointer: '/user_email', named: { userEmail: userEmail.trim() } }]),
    ...(teamUid === undefined ? [] : [{ pointer: '/team_uid', named: { teamUid } }]),
  ];
  const [only, ...others] = given;
  if (!only)
    throw invalidInput([{ pointer: '/user_uid', detail: 'is required, unless user_email or team_uid is given' }]);
  if (others.length > 0)
    throw invalidInput(others.map(({ pointer }) => ({ pointer, detail: 'must not be given beside another one' })));
  return only;
}
