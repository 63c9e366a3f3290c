import { parseArgs } from 'node:util';
import {
  CreateUser,
  isRole,
  ListUsers,
  type MembershipResult,
  RemoveMember,
  type Role,
  ROLES,
  SetRole,
} from '#libs/auth';
import { onlyPositional, required } from '../cli/arguments.js';
import { CommandError, type CommandModule, UsageError } from '../cli/command.js';
import { renderTable } from '../cli/table.js';
import { withUseCases } from '../process/with-use-cases.js';

export const create: CommandModule = {
  run: (args) => {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: { name: { type: 'string' } },
      allowPositionals: true,
    });
    const email = onlyPositional('email', positionals);
    if (!/^[^@\s]+@[^@\s]+$/.test(email)) throw new UsageError('<email> must be an e-mail address');
    return withUseCases(async (services) => {
      const result = await services.get(CreateUser).execute({ email, displayName: values.name ?? email });
      if (result.kind === 'email_taken') throw new CommandError(`there is a user ${email} already.`);
      process.stdout.write(`${result.user.uid}\n`);
      return 0;
    });
  },
};

export const list: CommandModule = {
  run: (args) => {
    const { values } = parseArgs({ args: [...args], options: { team: { type: 'string' } } });
    return withUseCases(async (services) => {
      const users = await services.get(ListUsers).execute(values.team === undefined ? {} : { teamUid: values.team });
      const rows = users.map(({ uid, email, displayName, memberships, createdAt }) => [
        ...[uid, email, displayName],
        ...[memberships.map(({ teamUid, role }) => `${role} of ${teamUid}`).join(', '), createdAt],
      ]);
      process.stdout.write(`${renderTable(['UID', 'EMAIL', 'NAME', 'MEMBERSHIPS', 'CREATED'], rows)}\n`);
      return 0;
    });
  },
};

/** Makes a user a member of a team, or changes the role of one. */
export const add: CommandModule = {
  run: (args) => {
    const { userUid, teamUid, role } = membershipArguments(args);
    if (role === undefined) throw new UsageError(`--role is missing; it is one of ${ROLES.join(', ')}`);
    return withUseCases(async (services) => {
      explain(await services.get(SetRole).execute({ teamUid, userUid, role }), userUid, teamUid);
      process.stdout.write(`User ${userUid} is ${role} of team ${teamUid}.\n`);
      return 0;
    });
  },
};

export const remove: CommandModule = {
  run: (args) => {
    const { userUid, teamUid, role } = membershipArguments(args);
    if (role !== undefined) throw new UsageError('--role has no meaning here');
    return withUseCases(async (services) => {
      explain(await services.get(RemoveMember).execute({ teamUid, userUid }), userUid, teamUid);
      process.stdout.write(`User ${userUid} is no member of team ${teamUid} any more.\n`);
      return 0;
    });
  },
};

function membershipArguments(args: readonly string[]): { userUid: string; teamUid: string; role?: Role } {
  const options = { team: { type: 'string' }, role: { type: 'string' } } as const;
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  const userUid = onlyPositional('user-uid', positionals);
  const teamUid = required('team', values.team);
  if (values.role === undefined) return { userUid, teamUid };
  if (!isRole(values.role)) throw new UsageError(`--role must be one of ${ROLES.join(', ')}`);
  return { userUid, teamUid, role: values.role };
}

function explain({ kind }: MembershipResult, userUid: string, teamUid: string): void {
  switch (kind) {
    case 'done':
      return;
    case 'unknown_team':
      throw new CommandError(`there is no team ${teamUid}; \`headrace team list\` shows the UIDs.`);
    case 'unknown_user':
      throw new CommandError(`there is no user ${userUid}; \`headrace user list\` shows the UIDs.`);
    case 'not_a_member':
      throw new CommandError(`user ${userUid} is no member of team ${teamUid}.`);
    case 'last_owner':
      throw new CommandError(`user ${userUid} is the last owner of team ${teamUid}; give it another one first.`);
  }
}
