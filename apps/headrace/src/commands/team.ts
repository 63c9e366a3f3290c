import { parseArgs } from 'node:util';
import { CreateServiceAccount, CreateTeam, ListTeams } from '#libs/auth';
import { onlyPositional, required } from '../cli/arguments.js';
import { CommandError, type CommandModule, UsageError } from '../cli/command.js';
import { noArguments } from '../cli/no-arguments.js';
import { renderTable } from '../cli/table.js';
import { withUseCases } from '../process/with-use-cases.js';

export const create: CommandModule = {
  run: (args) => {
    const options = { 'max-concurrent-runs': { type: 'string' } } as const;
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    const name = onlyPositional('name', positionals);
    const limit = values['max-concurrent-runs'];
    if (limit !== undefined && !/^[1-9]\d{0,5}$/.test(limit))
      throw new UsageError('--max-concurrent-runs must be a whole number from 1 to 999999');
    return withUseCases(async (services) => {
      const team = await services
        .get(CreateTeam)
        .execute({ name, ...(limit !== undefined && { maxConcurrentRuns: Number(limit) }) });
      process.stdout.write(`${team.uid}\n`);
      return 0;
    });
  },
};

export const list: CommandModule = {
  run: (args) => {
    noArguments(args);
    return withUseCases(async (services) => {
      const teams = await services.get(ListTeams).execute();
      const rows = teams.map(({ uid, name, maxConcurrentRuns, createdAt }) => [
        uid,
        name,
        maxConcurrentRuns,
        createdAt,
      ]);
      process.stdout.write(`${renderTable(['UID', 'NAME', 'RUNS AT ONCE', 'CREATED'], rows)}\n`);
      return 0;
    });
  },
};

/** A service account works for one team like a member, and manages nothing. */
export const createServiceAccount: CommandModule = {
  run: (args) => {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: { team: { type: 'string' } },
      allowPositionals: true,
    });
    const name = onlyPositional('name', positionals);
    const teamUid = required('team', values.team);
    return withUseCases(async (services) => {
      const result = await services.get(CreateServiceAccount).execute({ teamUid, name });
      if (result.kind === 'unknown_team')
        throw new CommandError(`there is no team ${teamUid}; \`headrace team list\` shows the UIDs.`);
      process.stdout.write(`${result.serviceAccount.uid}\n`);
      return 0;
    });
  },
};
