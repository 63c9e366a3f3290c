import { FactoriesService } from '#domain/factories';
import { CommandError, filledText, requiredText, text, UsageError } from '../cli/command.js';
import { printResult, printRows } from '../cli/output.js';
import { databaseCommand, unknownTeam } from '../process/services.js';

/** As in a definition's factory.yaml. */
const LIMITS = { name: 200, description: 2000, alias: 64 } as const;
const MAX_LISTED = 1000;

export const create = databaseCommand({
  argument: 'name',
  options: {
    team: requiredText('uid', 'Team that owns the factory.'),
    alias: filledText('text', 'Alias, unique in the team.'),
    description: text('text', 'Description.'),
  },
  check: ({ alias = '', description = '' }, name) => {
    checkLength(LIMITS.name, '<name>', name);
    checkLength(LIMITS.description, '--description', description);
    checkLength(LIMITS.alias, '--alias', alias);
  },
  run: async (services, { team: teamUid, alias, description = '', ...values }, name) => {
    const command = { teamUid, name, description, ...(alias !== undefined && { alias }) };
    const result = await services.get(FactoriesService).create(command);
    switch (result.kind) {
      case 'unknown_team':
        throw unknownTeam(teamUid);
      case 'alias_taken':
        throw new CommandError('another factory of the team has this alias.');
      case 'created':
        return printResult(values, { uid: result.factory.uid }, result.factory.uid);
    }
  },
});

export const list = databaseCommand({
  run: async (services, values) => {
    const factories = await services.get(FactoriesService).list(MAX_LISTED);
    const rows = factories.map(({ uid, name, alias, teamUid, createdAt }) => [uid, name, alias, teamUid, createdAt]);
    printRows(values, ['UID', 'NAME', 'ALIAS', 'TEAM', 'CREATED'], rows);
  },
});

function checkLength(limit: number, option: string, value: string): void {
  if (value.length > limit) throw new UsageError(`${option} must not exceed ${limit} characters`);
}
