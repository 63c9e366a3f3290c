import type { TestApi, TestPrincipal } from '#testing';

/** Everybody's relation to the resources of one team. */
export interface AgentsRoom {
  readonly team: string;
  readonly owner: TestPrincipal;
  readonly admin: TestPrincipal;
  readonly member: TestPrincipal;
  readonly viewer: TestPrincipal;
  readonly bot: TestPrincipal;
  /** Owner of another team. */
  readonly stranger: TestPrincipal;
  /** Admin of this team and of another one. */
  readonly both: TestPrincipal;
  readonly otherTeam: string;
}

export async function openRoom({ identities }: TestApi): Promise<AgentsRoom> {
  const team = await identities.team('Agents');
  const otherTeam = await identities.team('Others');
  const of = (role: 'owner' | 'admin' | 'member' | 'viewer') => identities.user({ [team]: role });
  return {
    team,
    otherTeam,
    owner: await of('owner'),
    admin: await of('admin'),
    member: await of('member'),
    viewer: await of('viewer'),
    bot: await identities.serviceAccount(team),
    stranger: await identities.user({ [otherTeam]: 'owner' }),
    both: await identities.user({ [team]: 'admin', [otherTeam]: 'admin' }),
  };
}

/** Where the errors of a problem document point. */
export const pointersOf = (body: { errors: { pointer: string }[] }): string[] =>
  body.errors.map(({ pointer }) => pointer);

export const inTeam = (uid: string): Record<string, string> => ({ 'X-Headrace-Team-Uid': uid });

export const UNKNOWN = '0'.repeat(22);
/** More than a body may have. */
export const HUGE = JSON.stringify({ name: 'x'.repeat(2_200_000) });
