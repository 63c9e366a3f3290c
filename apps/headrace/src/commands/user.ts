import { SchedulesModule } from '#domain/schedules';
import { type MembershipResult, MembersService, ROLES, UsersService } from '#platform/auth';
import { choice, CommandError, flag, requiredText, text, UsageError } from '../cli/command.js';
import { printResult, printRows } from '../cli/output.js';
import { databaseCommand, databaseCommandWith, unknownTeam } from '../process/services.js';

const TEAM = { team: requiredText('uid', 'Team.') };

export const create = databaseCommand({
  argument: 'email',
  options: {
    name: text('text', 'Display name. Default: the e-mail address.'),
    administrator: flag('Make the user an administrator of the installation, who creates teams and users.'),
  },
  check: (_values, email) => {
    if (!/^[^@\s]+@[^@\s]+$/.test(email)) throw new UsageError('<email> must be an e-mail address');
  },
  run: async (services, values, email) => {
    const result = await services.get(UsersService).create({
      email,
      displayName: values.name ?? email,
      isAdministrator: values.administrator,
    });
    if (result.kind === 'email_taken') throw new CommandError(`user ${email} already exists.`);
    printResult(values, { uid: result.user.uid }, result.user.uid);
  },
});

/** Rejects all tokens of the user, pauses their personal schedules and cancels their personal runs. */
export const disable = databaseCommandWith(SchedulesModule)({
  argument: 'user-uid',
  run: async (services, values, userUid) => {
    const { kind } = await services.get(UsersService).disable(userUid);
    if (kind === 'unknown') throw unknownUser(userUid);
    if (kind === 'last_administrator')
      throw new CommandError(`user ${userUid} is the last administrator of the installation.`);
    const message = kind === 'disabled' ? `User ${userUid} is disabled.` : `User ${userUid} was already disabled.`;
    printResult(values, { uid: userUid, disabled: true }, message);
  },
});

/** The tokens of the user are accepted again. Schedules stay paused and runs cancelled. */
export const enable = databaseCommand({
  argument: 'user-uid',
  run: async (services, values, userUid) => {
    const { kind } = await services.get(UsersService).enable(userUid);
    if (kind === 'unknown') throw unknownUser(userUid);
    const message = kind === 'enabled' ? `User ${userUid} is enabled.` : `User ${userUid} was not disabled.`;
    printResult(values, { uid: userUid, disabled: false }, message);
  },
});

export const list = databaseCommand({
  options: { team: text('uid', 'Only members of this team.') },
  run: async (services, values) => {
    const users = await services.get(UsersService).list(values.team === undefined ? {} : { teamUid: values.team });
    const rows = users.map(({ uid, email, displayName, memberships, createdAt, disabledAt }) => [
      ...[uid, email, displayName],
      ...[memberships.map(({ teamUid, role }) => `${role} of ${teamUid}`).join(', '), createdAt, disabledAt],
    ]);
    printRows(values, ['UID', 'EMAIL', 'NAME', 'MEMBERSHIPS', 'CREATED', 'DISABLED'], rows);
  },
});

export const add = databaseCommand({
  argument: 'user-uid',
  options: { ...TEAM, role: choice(ROLES, 'Role in the team. Required.') },
  check: ({ role }) => {
    if (role === undefined) throw new UsageError(`--role is missing; it must be one of ${ROLES.join(', ')}`);
  },
  run: async (services, { team: teamUid, role = 'member', ...values }, userUid) => {
    assertDone(await services.get(MembersService).setRole({ teamUid, userUid, role }), userUid, teamUid);
    printResult(values, { uid: userUid, team_uid: teamUid, role }, `User ${userUid} is ${role} of team ${teamUid}.`);
  },
});

export const remove = databaseCommand({
  argument: 'user-uid',
  options: TEAM,
  run: async (services, { team: teamUid, ...values }, userUid) => {
    assertDone(await services.get(MembersService).remove({ teamUid, userUid }), userUid, teamUid);
    const message = `User ${userUid} is no longer a member of team ${teamUid}.`;
    printResult(values, { uid: userUid, team_uid: teamUid, removed: true }, message);
  },
});

const unknownUser = (userUid: string): CommandError =>
  new CommandError(`user ${userUid} not found; \`headrace user list\` shows the UIDs.`);

function assertDone({ kind }: MembershipResult, userUid: string, teamUid: string): void {
  switch (kind) {
    case 'done':
      return;
    case 'unknown_team':
      throw unknownTeam(teamUid);
    case 'unknown_user':
      throw unknownUser(userUid);
    case 'not_a_member':
      throw new CommandError(`user ${userUid} is not a member of team ${teamUid}.`);
    case 'owner_required':
      throw new Error('A command acts for no role.');
    case 'last_owner':
      throw new CommandError(`user ${userUid} is the last owner of team ${teamUid}; add another owner first.`);
  }
}
