import { ROLES } from '#platform/auth';
import { choice, flag, text, UsageError } from '../cli/command.js';
import { type OutputValues, printResult, printTable, timeCell } from '../cli/output.js';
import { TEAM_CHOICE } from '../cli/shared-options.js';
import { allOf, findUser, pathTo } from '../remote/administration.js';
import type { ApiClient } from '../remote/api-client.js';
import { apiCommand } from '../remote/connect.js';

interface RemoteUser {
  readonly uid: string;
  readonly email: string;
  readonly is_email_verified: boolean;
  readonly display_name: string;
  readonly disabled_at?: string;
}

type ListedUser = RemoteUser & {
  readonly created_at: string;
  readonly memberships: readonly { readonly team_uid: string; readonly role: string }[];
};

type Member = RemoteUser & { readonly role: string; readonly member_since: string };

export const create = apiCommand({
  argument: 'email',
  options: {
    name: text('text', 'Display name. Default: the e-mail address.'),
    administrator: flag('Make the user an administrator of the installation, who creates teams and users.'),
  },
  check: (_values, email) => {
    if (!/^[^@\s]+@[^@\s]+$/.test(email)) throw new UsageError('<email> must be an e-mail address');
  },
  run: async (api, { name, administrator, ...values }, email) => {
    const body = { email, display_name: name, ...(administrator && { is_administrator: true }) };
    const user = await api.post<ListedUser>('/users', body);
    printResult(values, user, user.uid);
  },
});

/** Rejects all tokens of the user, pauses their personal schedules and cancels their personal runs. */
export const disable = apiCommand({
  argument: 'uid|email',
  run: (api, values, user) => setDisabled(api, values, user, true),
});

/** The tokens of the user are accepted again. Schedules stay paused and runs cancelled. */
export const enable = apiCommand({
  argument: 'uid|email',
  run: (api, values, user) => setDisabled(api, values, user, false),
});

async function setDisabled(api: ApiClient, values: OutputValues, user: string, isDisabled: boolean): Promise<void> {
  const uid = await findUser(api, user);
  const changed = await api.request<ListedUser>('PUT', pathTo('users', uid), { is_disabled: isDisabled });
  printResult(values, changed, `User ${uid} is ${isDisabled ? 'disabled' : 'enabled'}.`);
}

const addressCell = ({ email, is_email_verified: isVerified }: RemoteUser): string =>
  isVerified ? email : `${email} (not verified)`;

/** Of the installation, or with `team` the members of one. */
export const list = apiCommand({
  options: { team: text('uid', 'Only members of this team, which its members can list.') },
  run: async (api, { team, ...values }) => {
    if (team === undefined) {
      const users = await allOf<ListedUser>(api, '/users', 'users');
      return printTable(values, users, ['UID', 'EMAIL', 'NAME', 'MEMBERSHIPS', 'CREATED', 'DISABLED'], (user) => [
        ...[user.uid, addressCell(user), user.display_name],
        user.memberships.map(({ team_uid: teamUid, role }) => `${role} of ${teamUid}`).join(', '),
        ...[timeCell(user.created_at), timeCell(user.disabled_at)],
      ]);
    }
    const members = await allOf<Member>(api, '/members', 'members', {}, team);
    printTable(values, members, ['UID', 'EMAIL', 'NAME', 'ROLE', 'SINCE', 'DISABLED'], (member) => [
      ...[member.uid, addressCell(member), member.display_name, member.role],
      ...[timeCell(member.member_since), timeCell(member.disabled_at)],
    ]);
  },
});

export const add = apiCommand({
  argument: 'uid|email',
  options: { ...TEAM_CHOICE, role: choice(ROLES, 'Role in the team. Required.') },
  check: ({ role }) => {
    if (role === undefined) throw new UsageError(`--role is missing; it must be one of ${ROLES.join(', ')}`);
  },
  run: async (api, { team, role = 'member', ...values }, user) => {
    const uid = await findUser(api, user);
    const made = await api.request<{ team_uid: string }>('PUT', pathTo('members', uid), { role }, team);
    printResult(values, made, `User ${uid} is ${role} of team ${made.team_uid}.`);
  },
});

export const remove = apiCommand({
  argument: 'uid|email',
  options: TEAM_CHOICE,
  run: async (api, { team, ...values }, user) => {
    const uid = await findUser(api, user);
    await api.delete(pathTo('members', uid), team);
    printResult(values, { uid, removed: true }, `User ${uid} is no longer a member of the team.`);
  },
});
