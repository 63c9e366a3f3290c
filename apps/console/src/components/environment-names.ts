import type { Schemas } from '../api/client';
import { withoutHidden } from '../format';
import { principal } from '../session';

type Environment = Schemas['EnvironmentItem'];

export const nameOf = ({ uid, config: { name = uid } }: Environment): string => name;

/** A name must not move or hide what follows it. */
const inOneLine = (text: string): string => withoutHidden(text).replace(/\s+/g, ' ').slice(0, 60);

/** Who shares an environment with the user; null: nobody, it is personal or belongs to a team of the user. */
function giverOf({ scope, creator }: Environment): string | null {
  if (scope?.type === 'User')
    return scope.uid === principal.value?.uid ? null : inOneLine(creator?.display_name ?? 'another user');
  const isOwn = principal.value?.memberships.some(({ team_uid: uid }) => uid === scope?.uid) ?? false;
  return isOwn ? null : 'another team';
}

export function ownerOf(environment: Environment): string {
  const giver = giverOf(environment);
  if (giver !== null) return `shared by ${giver}`;
  return environment.scope?.type === 'User' ? 'personal' : 'team';
}

/** For a choice: the user who shares an environment chooses its name, which may be the name of another one. */
export function labelOf(environment: Environment): string {
  const giver = giverOf(environment);
  return giver === null ? nameOf(environment) : `Shared by ${giver}: ${nameOf(environment)}`;
}
