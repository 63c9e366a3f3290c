import { parseArgs } from 'node:util';
import type { INestApplicationContext } from '@nestjs/common';
import { isRole, type MembershipResult, MembersService, type Role, ROLES, UsersService } from '#platform/auth';
import { SchedulesModule } from '#domain/schedules';
import { onlyPositional, required } from '../cli/arguments.js';
import { CommandError, type CommandModule, UsageError } from '../cli/command.js';
import { OUTPUT_OPTIONS, type OutputValues, printResult, printRows } from '../cli/output.js';
import { withUseCases } from '../process/with-use-cases.js';

export const create: CommandModule = {
  run: (args) => {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: { ...OUTPUT_OPTIONS, name: { type: 'string' } },
      allowPositionals: true,
    });
    const email = onlyPositional('email', positionals);
    if (!/^[^@\s]+@[^@\s]+$/.test(email)) throw new UsageError('<email> must be an e-mail address');
    return withUseCases(async (services) => {
      const result = await services.get(UsersService).create({ email, displayName: values.name ?? email });
      if (result.kind === 'email_taken') throw new CommandError(`there is a user ${email} already.`);
      printResult(values, { uid: result.user.uid }, result.user.uid);
      return 0;
    });
  },
};

/** Refuses all tokens of a user, pauses their personal schedules, and cancels their personal runs. */
export const disable: CommandModule = {
  run: (args) => {
    const { userUid, output } = userArgument(args);
    const work = async (services: INestApplicationContext): Promise<number> => {
      const { kind } = await services.get(UsersService).disable(userUid);
      if (kind === 'unknown') throw unknownUser(userUid);
      const text = kind === 'disabled' ? `User ${userUid} is disabled.` : `User ${userUid} was disabled before.`;
      printResult(output, { uid: userUid, disabled: true }, text);
      return 0;
    };
    return withUseCases(work, { imports: [SchedulesModule] });
  },
};

/** The user's tokens work again. Schedules stay paused, and runs cancelled. */
export const enable: CommandModule = {
  run: (args) => {
    const { userUid, output } = userArgument(args);
    return withUseCases(async (services) => {
      const { kind } = await services.get(UsersService).enable(userUid);
      if (kind === 'unknown') throw unknownUser(userUid);
      const text = kind === 'enabled' ? `User ${userUid} is enabled.` : `User ${userUid} was not disabled.`;
      printResult(output, { uid: userUid, disabled: false }, text);
      return 0;
    });
  },
};

export const list: CommandModule = {
  run: (args) => {
    const { values } = parseArgs({ args: [...args], options: { ...OUTPUT_OPTIONS, team: { type: 'string' } } });
    return withUseCases(async (services) => {
      const users = await services.get(UsersService).list(values.team === undefined ? {} : { teamUid: values.team });
      const rows = users.map(({ uid, email, displayName, memberships, createdAt, disabledAt }) => [
        ...[uid, email, displayName],
        ...[memberships.map(({ teamUid, role }) => `${role} of ${teamUid}`).join(', '), createdAt, disabledAt],
      ]);
      printRows(values, ['UID', 'EMAIL', 'NAME', 'MEMBERSHIPS', 'CREATED', 'DISABLED'], rows);
      return 0;
    });
  },
};

/** Makes a user a member of a team, or changes the role of one. */
export const add: CommandModule = {
  run: (args) => {
    const { userUid, teamUid, role, output } = membershipArguments(args);
    if (role === undefined) throw new UsageError(`--role is missing; it is one of ${ROLES.join(', ')}`);
    return withUseCases(async (services) => {
      explain(await services.get(MembersService).setRole({ teamUid, userUid, role }), userUid, teamUid);
      printResult(output, { uid: userUid, team_uid: teamUid, role }, `User ${userUid} is ${role} of team ${teamUid}.`);
      return 0;
    });
  },
};

export const remove: CommandModule = {
  run: (args) => {
    const { userUid, teamUid, role, output } = membershipArguments(args);
    if (role !== undefined) throw new UsageError('--role has no meaning here');
    return withUseCases(async (services) => {
      explain(await services.get(MembersService).remove({ teamUid, userUid }), userUid, teamUid);
      const text = `User ${userUid} is no longer a member of team ${teamUid}.`;
      printResult(output, { uid: userUid, team_uid: teamUid, removed: true }, text);
      return 0;
    });
  },
};

function userArgument(args: readonly string[]): { userUid: string; output: OutputValues } {
  const { values, positionals } = parseArgs({ args: [...args], options: OUTPUT_OPTIONS, allowPositionals: true });
  return { userUid: onlyPositional('user-uid', positionals), output: values };
}

const unknownUser = (userUid: string): CommandError =>
  new CommandError(`there is no user ${userUid}; \`headrace user list\` shows the UIDs.`);

function membershipArguments(args: readonly string[]): {
  userUid: string;
  teamUid: string;
  role?: Role;
  output: OutputValues;
} {
  const options = { ...OUTPUT_OPTIONS, team: { type: 'string' }, role: { type: 'string' } } as const;
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  const userUid = onlyPositional('user-uid', positionals);
  const teamUid = required('team', values.team);
  if (values.role === undefined) return { userUid, teamUid, output: values };
  if (!isRole(values.role)) throw new UsageError(`--role must be one of ${ROLES.join(', ')}`);
  return { userUid, teamUid, role: values.role, output: values };
}

function explain({ kind }: MembershipResult, userUid: string, teamUid: string): void {
  switch (kind) {
    case 'done':
      return;
    case 'unknown_team':
      throw new CommandError(`there is no team ${teamUid}; \`headrace team list\` shows the UIDs.`);
    case 'unknown_user':
      throw unknownUser(userUid);
    case 'not_a_member':
      throw new CommandError(`user ${userUid} is no member of team ${teamUid}.`);
    case 'last_owner':
      throw new CommandError(`user ${userUid} is the last owner of team ${teamUid}; give it another one first.`);
  }
}
