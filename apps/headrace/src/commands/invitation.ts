import { ROLES } from '#platform/auth';
import { choice } from '../cli/command.js';
import { printResult, printTable, timeCell } from '../cli/output.js';
import { TEAM_CHOICE } from '../cli/shared-options.js';
import { allOf, pathTo } from '../remote/administration.js';
import { apiCommand } from '../remote/connect.js';

interface RemoteInvitation {
  readonly uid: string;
  readonly email: string;
  readonly role: string;
  readonly created_at: string;
  readonly expires_at: string;
}

/** Only the link goes to standard output; it is returned only once. */
export const create = apiCommand({
  argument: 'email',
  options: { ...TEAM_CHOICE, role: choice(ROLES, 'Role on the team.', { default: 'member' }) },
  run: async (api, { team, role, ...values }, email) => {
    const made = await api.post<RemoteInvitation & { url: string }>('/invitations', { email, role }, team);
    process.stderr.write(`The link can be used once, until ${made.expires_at}; it is returned only once.\n`);
    printResult(values, made, made.url);
  },
});

export const list = apiCommand({
  options: TEAM_CHOICE,
  run: async (api, { team, ...values }) => {
    const invitations = await allOf<RemoteInvitation>(api, '/invitations', 'invitations', {}, team);
    printTable(values, invitations, ['UID', 'E-MAIL ADDRESS', 'ROLE', 'CREATED', 'EXPIRES'], (invitation) => [
      ...[invitation.uid, invitation.email, invitation.role],
      ...[timeCell(invitation.created_at), timeCell(invitation.expires_at)],
    ]);
  },
});

export const revoke = apiCommand({
  argument: 'uid',
  options: TEAM_CHOICE,
  run: async (api, { team, ...values }, uid) => {
    await api.delete(pathTo('invitations', uid), team);
    printResult(values, { uid, revoked: true }, `Invitation ${uid} is revoked.`);
  },
});
