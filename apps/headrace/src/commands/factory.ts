import { FactoriesService } from '#domain/factories';
import { command, CommandError, required, requiredText, text, UsageError } from '../cli/command.js';
import { printResult, printRows } from '../cli/output.js';
import { OUTPUT_OPTIONS } from '../cli/shared-options.js';
import { unknownTeam, withUseCases } from '../process/services.js';

/** As in a definition's factory.yaml. */
const LIMITS = { name: 200, description: 2000, alias: 64 } as const;
const MAX_LISTED = 1000;
const CREATE_OPTIONS = {
  team: requiredText('uid', 'Team that owns the factory.'),
  alias: text('text', 'Alias, unique in the team.'),
  description: text('text', 'Description.'),
  ...OUTPUT_OPTIONS,
};

export const create = command({
  argument: 'name',
  options: CREATE_OPTIONS,
  run: (values, name) => {
    const teamUid = values.team;
    const alias = values.alias === undefined ? undefined : required('alias', values.alias);
    const command = {
      teamUid,
      name: within(LIMITS.name, '<name>', name),
      description: within(LIMITS.description, '--description', values.description ?? ''),
      ...(alias !== undefined && { alias: within(LIMITS.alias, '--alias', alias) }),
    };
    return withUseCases(async (services) => {
      const result = await services.get(FactoriesService).create(command);
      switch (result.kind) {
        case 'unknown_team':
          throw unknownTeam(teamUid);
        case 'alias_taken':
          throw new CommandError('another factory of the team has this alias.');
        case 'created':
          printResult(values, { uid: result.factory.uid }, result.factory.uid);
          return 0;
      }
    });
  },
});

export const list = command({
  options: OUTPUT_OPTIONS,
  run: (values) => {
    return withUseCases(async (services) => {
      const factories = await services.get(FactoriesService).list(MAX_LISTED);
      const rows = factories.map(({ uid, name, alias, teamUid, createdAt }) => [uid, name, alias, teamUid, createdAt]);
      printRows(values, ['UID', 'NAME', 'ALIAS', 'TEAM', 'CREATED'], rows);
      return 0;
    });
  },
});

function within(limit: number, option: string, value: string): string {
  if (value.length > limit) throw new UsageError(`${option} must not exceed ${limit} characters`);
  return value;
}
