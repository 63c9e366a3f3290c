import { buffer } from 'node:stream/consumers';
import type { INestApplicationContext } from '@nestjs/common';
import { TeamsService } from '#platform/auth';
import { KeyRotation, ManagedSecrets, SECRET_NAME, SECRET_NAME_RULE, SECRET_PURPOSES } from '#platform/secrets';
import { choice, command, CommandError, requiredText, UsageError } from '../cli/command.js';
import { printResult, printRows } from '../cli/output.js';
import { OUTPUT_OPTIONS } from '../cli/shared-options.js';
import { ENCRYPTED_COLUMNS } from '../process/encrypted-columns.js';
import { unknownTeam } from '../process/services.js';
import { withSecrets } from '../process/with-secrets.js';

const TEAM_OPTIONS = { team: requiredText('uid', 'Team that owns the secret.'), ...OUTPUT_OPTIONS };
const SET_OPTIONS = { purpose: choice(SECRET_PURPOSES, 'What may use the secret.'), ...TEAM_OPTIONS };

export const list = command({
  options: TEAM_OPTIONS,
  run: (values) => {
    const teamUid = values.team;
    return withSecrets(async (services) => {
      await assertTeam(services, teamUid);
      const secrets = await services.get(ManagedSecrets).list(teamUid);
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
});

/** Reads the value from standard input, because other users of the machine can see arguments. */
export const set = command({
  argument: 'name',
  options: SET_OPTIONS,
  run: async (values, name) => {
    assertSecretName(name);
    const { team: teamUid, purpose = null } = values;
    const value = readText(await buffer(process.stdin)).replace(/\r?\n$/, '');
    if (value === '') throw new UsageError('the value is missing on standard input');
    return withSecrets(async (services) => {
      await assertTeam(services, teamUid);
      const result = await services.get(ManagedSecrets).putOfTeam(teamUid, name, { value, purpose });
      switch (result.kind) {
        case 'invalid_value':
          throw new CommandError(`the value ${result.reason}.`);
        case 'in_use':
          throw new CommandError(`the secret is used by ${result.by.join(', ')}, so its purpose cannot be run.`);
        case 'reserved_name':
          throw new CommandError('names that begin with webhook- are reserved for webhooks: omit --purpose.');
        case 'limit_reached':
          throw new CommandError(`a team has at most ${result.limit} secrets.`);
        case 'stored': {
          const { version } = result.secret;
          printResult(values, { name, version }, `Secret ${name} is stored as version ${version}.`);
          return 0;
        }
      }
    });
  },
});

export const remove = command({
  argument: 'name',
  options: TEAM_OPTIONS,
  run: (values, name) => {
    assertSecretName(name);
    const teamUid = values.team;
    return withSecrets(async (services) => {
      await assertTeam(services, teamUid);
      const result = await services.get(ManagedSecrets).deleteOfTeam(teamUid, name);
      switch (result.kind) {
        case 'not_found':
          throw new CommandError(`secret ${name} not found in the team; \`headrace secrets list\` shows the names.`);
        case 'in_use':
          throw new CommandError(`secret ${name} is used by ${result.by.join(', ')}.`);
        case 'deleted':
          printResult(values, { name, deleted: true }, `Secret ${name} is deleted.`);
          return 0;
      }
    });
  },
});

/** Exit code 1 when a value cannot be decrypted: SECRETS_KEY_PREVIOUS lacks a key, or the value is damaged. */
export const rotateKey = command({
  options: OUTPUT_OPTIONS,
  run: (values) => {
    return withSecrets(async (services) => {
      let broken = 0;
      const rows: (string | number)[][] = [];
      for await (const { table, changed, broken: notOpened } of services.get(KeyRotation).rotate(ENCRYPTED_COLUMNS)) {
        rows.push([table, changed, notOpened]);
        broken += notOpened;
      }
      printRows(values, ['PLACE', 'CHANGED', 'DO NOT OPEN'], rows);
      if (broken === 0) return 0;
      process.stderr.write(
        `headrace: ${broken} value(s) cannot be decrypted with SECRETS_KEY or SECRETS_KEY_PREVIOUS.\n`,
      );
      return 1;
    });
  },
});

function assertSecretName(name: string): void {
  if (!SECRET_NAME.test(name)) throw new UsageError(`<name> must be ${SECRET_NAME_RULE}`);
}

function readText(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new UsageError('the value on standard input is not valid UTF-8 text');
  }
}

async function assertTeam(services: INestApplicationContext, uid: string): Promise<void> {
  const teams = await services.get(TeamsService).list();
  if (!teams.some((team) => team.uid === uid)) throw unknownTeam(uid);
}
