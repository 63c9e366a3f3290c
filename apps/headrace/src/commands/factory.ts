import { parseArgs } from 'node:util';
import { CreateFactory, ListFactories } from '#domain/factories';
import { onlyPositional, required } from '../cli/arguments.js';
import { CommandError, type CommandModule, UsageError } from '../cli/command.js';
import { OUTPUT_OPTIONS, printResult, printRows } from '../cli/output.js';
import { withUseCases } from '../process/with-use-cases.js';

/** As in a definition's factory.yaml. */
const LIMITS = { name: 200, description: 2000, alias: 64 } as const;
const MAX_LISTED = 1000;
const CREATE_OPTIONS = {
  ...OUTPUT_OPTIONS,
  team: { type: 'string' },
  description: { type: 'string' },
  alias: { type: 'string' },
} as const;

export const create: CommandModule = {
  run: (args) => {
    const { values, positionals } = parseArgs({ args: [...args], options: CREATE_OPTIONS, allowPositionals: true });
    const name = within(LIMITS.name, '<name>', onlyPositional('name', positionals));
    const teamUid = required('team', values.team);
    const alias = values.alias === undefined ? undefined : required('alias', values.alias);
    const command = {
      teamUid,
      name,
      description: within(LIMITS.description, '--description', values.description ?? ''),
      ...(alias !== undefined && { alias: within(LIMITS.alias, '--alias', alias) }),
    };
    return withUseCases(async (services) => {
      const result = await services.get(CreateFactory).execute(command);
      switch (result.kind) {
        case 'unknown_team':
          throw new CommandError(`there is no team ${teamUid}; \`headrace team list\` shows the UIDs.`);
        case 'alias_taken':
          throw new CommandError('another factory of the team has this alias.');
        case 'created':
          printResult(values, { uid: result.factory.uid }, result.factory.uid);
          return 0;
      }
    });
  },
};

export const list: CommandModule = {
  run: (args) => {
    const { values } = parseArgs({ args: [...args], options: OUTPUT_OPTIONS });
    return withUseCases(async (services) => {
      const factories = await services.get(ListFactories).execute(MAX_LISTED);
      const rows = factories.map(({ uid, name, alias, teamUid, createdAt }) => [uid, name, alias, teamUid, createdAt]);
      printRows(values, ['UID', 'NAME', 'ALIAS', 'TEAM', 'CREATED'], rows);
      return 0;
    });
  },
};

function within(limit: number, option: string, value: string): string {
  if (value.length > limit) throw new UsageError(`${option} must have at most ${limit} characters`);
  return value;
}
