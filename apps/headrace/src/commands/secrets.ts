import { buffer } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import type { INestApplicationContext } from '@nestjs/common';
import { TeamsService } from '#platform/auth';
import {
  RotateKey,
  SECRET_NAME,
  SECRET_NAME_RULE,
  SECRET_PURPOSES,
  type SecretPurpose,
  TeamSecrets,
} from '#platform/secrets';
import { onlyPositional, required } from '../cli/arguments.js';
import { CommandError, type CommandModule, UsageError } from '../cli/command.js';
import { OUTPUT_OPTIONS, type OutputValues, printResult, printRows } from '../cli/output.js';
import { withSecrets } from '../process/with-secrets.js';

const TEAM = { ...OUTPUT_OPTIONS, team: { type: 'string' } } as const;
const PURPOSE = { purpose: { type: 'string' } } as const;

export const list: CommandModule = {
  run: (args) => {
    const { values } = parseArgs({ args: [...args], options: TEAM });
    const teamUid = required('team', values.team);
    return withSecrets(async (services) => {
      await assertTeam(services, teamUid);
      const secrets = await services.get(TeamSecrets).list(teamUid);
      const rows = secrets.map(({ name, purpose, version, createdAt, updatedAt }) => [
        name,
        purpose,
        version,
        createdAt,
        updatedAt,
      ]);
      printRows(values, ['NAME', 'PURPOSE', 'VERSION', 'CREATED', 'CHANGED'], rows);
      return 0;
    });
  },
};

/** The value comes on standard input: others on the machine can see arguments. One line end after it is dropped. */
export const set: CommandModule = {
  run: async (args) => {
    const { name, teamUid, purpose, output } = secretArguments(args, PURPOSE);
    const value = readText(await buffer(process.stdin)).replace(/\r?\n$/, '');
    if (value === '') throw new UsageError('the value is missing on standard input');
    return withSecrets(async (services) => {
      await assertTeam(services, teamUid);
      const result = await services.get(TeamSecrets).set(teamUid, name, { value, purpose });
      switch (result.kind) {
        case 'refused':
          throw new CommandError(`the value ${result.reason}.`);
        case 'in_use':
          throw new CommandError(`the secret is in use by ${result.by.join(', ')}, so it cannot be for runs.`);
        case 'reserved_name':
          throw new CommandError('names that begin with webhook- are for webhooks: leave --purpose out.');
        case 'limit_reached':
          throw new CommandError(`a team has at most ${result.limit} secrets.`);
        case 'set': {
          const { version } = result.secret;
          printResult(output, { name, version }, `Secret ${name} is stored as version ${version}.`);
          return 0;
        }
      }
    });
  },
};

export const remove: CommandModule = {
  run: (args) => {
    const { name, teamUid, output } = secretArguments(args);
    return withSecrets(async (services) => {
      await assertTeam(services, teamUid);
      const result = await services.get(TeamSecrets).delete(teamUid, name);
      switch (result.kind) {
        case 'unknown':
          throw new CommandError(`the team has no secret ${name}; \`headrace secrets list\` shows the names.`);
        case 'in_use':
          throw new CommandError(`secret ${name} is in use by ${result.by.join(', ')}.`);
        case 'removed':
          printResult(output, { name, deleted: true }, `Secret ${name} is deleted.`);
          return 0;
      }
    });
  },
};

/** Exit code 1 when something does not open: a key is missing in SECRETS_KEY_PREVIOUS, or the value is damaged. */
export const rotateKey: CommandModule = {
  run: (args) => {
    const { values } = parseArgs({ args: [...args], options: OUTPUT_OPTIONS });
    return withSecrets(async (services) => {
      let broken = 0;
      const rows: (string | number)[][] = [];
      for await (const place of services.get(RotateKey).execute()) {
        rows.push([place.name, place.changed, place.broken]);
        broken += place.broken;
      }
      printRows(values, ['PLACE', 'CHANGED', 'DO NOT OPEN'], rows);
      if (broken === 0) return 0;
      process.stderr.write(`headrace: ${broken} value(s) do not open under SECRETS_KEY or SECRETS_KEY_PREVIOUS.\n`);
      return 1;
    });
  },
};

function secretArguments(
  args: readonly string[],
  more: typeof PURPOSE | Record<string, never> = {},
): { name: string; teamUid: string; purpose: SecretPurpose | null; output: OutputValues } {
  const { values, positionals } = parseArgs({ args: [...args], options: { ...TEAM, ...more }, allowPositionals: true });
  const name = onlyPositional('name', positionals);
  if (!SECRET_NAME.test(name)) throw new UsageError(`<name> must be ${SECRET_NAME_RULE}`);
  const asked = 'purpose' in values ? values.purpose : undefined;
  const purpose = SECRET_PURPOSES.find((known) => known === asked) ?? null;
  if (asked !== undefined && purpose === null)
    throw new UsageError(`--purpose must be one of ${SECRET_PURPOSES.join(', ')}`);
  return { name, teamUid: required('team', values.team), purpose, output: values };
}

function readText(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new UsageError('the value on standard input is not text in UTF-8');
  }
}

async function assertTeam(services: INestApplicationContext, uid: string): Promise<void> {
  const teams = await services.get(TeamsService).list();
  if (!teams.some((team) => team.uid === uid))
    throw new CommandError(`there is no team ${uid}; \`headrace team list\` shows the UIDs.`);
}
