import { buffer } from 'node:stream/consumers';
import type { INestApplicationContext } from '@nestjs/common';
import { TeamsService } from '#platform/auth';
import { KeyRotation, ManagedSecrets, SECRET_NAME, SECRET_NAME_RULE, SECRET_PURPOSES } from '#platform/secrets';
import { choice, CommandError, requiredText, UsageError } from '../cli/command.js';
import { decodeText } from '../cli/input.js';
import { printResult, printRows } from '../cli/output.js';
import { recordCommand } from '../process/audit-command.js';
import { secretsCommand, unknownTeam } from '../process/services.js';

const TEAM_OPTION = { team: requiredText('uid', 'Team that owns the secret.') };

export const list = secretsCommand({
  options: TEAM_OPTION,
  run: async (services, { team, ...values }) => {
    await assertTeam(services, team);
    const secrets = await services.get(ManagedSecrets).list(team);
    const rows = secrets.map((secret) => [
      ...[secret.name, secret.purpose, secret.version, secret.createdAt, secret.updatedAt],
    ]);
    printRows(values, ['NAME', 'PURPOSE', 'VERSION', 'CREATED', 'CHANGED'], rows);
  },
});

/** Reads the value from standard input, because other users of the machine can see arguments. */
export const set = secretsCommand({
  argument: 'name',
  options: { purpose: choice(SECRET_PURPOSES, 'What may use the secret.'), ...TEAM_OPTION },
  check: checkSecretName,
  run: async (services, { team, purpose = null, ...values }, name) => {
    const value = await readValue();
    await assertTeam(services, team);
    const result = await services.get(ManagedSecrets).putOfTeam(team, name, { value, purpose });
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
        await recordCommand(services, team, { action: 'secret.updated', target: { type: 'secret', uid: name, name } });
        return printResult(values, { name, version }, `Secret ${name} is stored as version ${version}.`);
      }
    }
  },
});

export const remove = secretsCommand({
  argument: 'name',
  options: TEAM_OPTION,
  check: checkSecretName,
  run: async (services, { team, ...values }, name) => {
    await assertTeam(services, team);
    const result = await services.get(ManagedSecrets).deleteOfTeam(team, name);
    switch (result.kind) {
      case 'not_found':
        throw new CommandError(`secret ${name} not found in the team; \`headrace secrets list\` shows the names.`);
      case 'in_use':
        throw new CommandError(`secret ${name} is used by ${result.by.join(', ')}.`);
      case 'deleted':
        await recordCommand(services, team, { action: 'secret.deleted', target: { type: 'secret', uid: name, name } });
        return printResult(values, { name, deleted: true }, `Secret ${name} is deleted.`);
    }
  },
});

/** Exit code 1 when a value cannot be decrypted: SECRETS_KEY_PREVIOUS lacks a key, or the value is damaged. */
export const rotateKey = secretsCommand({
  run: async (services, values) => {
    // Loads most libraries, which the other commands do not need.
    const { ENCRYPTED_COLUMNS } = await import('../process/encrypted-columns.js');
    let broken = 0;
    const rows: (string | number)[][] = [];
    for await (const { table, changed, broken: notOpened } of services.get(KeyRotation).rotate(ENCRYPTED_COLUMNS)) {
      rows.push([table, changed, notOpened]);
      broken += notOpened;
    }
    await recordCommand(services, null, { action: 'secrets_key.rotated', target: { type: 'secrets_key' } });
    printRows(values, ['TABLE', 'CHANGED', 'NOT DECRYPTED'], rows);
    if (broken === 0) return 0;
    process.stderr.write(
      `headrace: ${broken} value(s) cannot be decrypted with SECRETS_KEY or SECRETS_KEY_PREVIOUS.\n`,
    );
    return 1;
  },
});

function checkSecretName(_values: unknown, name: string): void {
  if (!SECRET_NAME.test(name)) throw new UsageError(`<name> must be ${SECRET_NAME_RULE}`);
}

async function readValue(): Promise<string> {
  const value = decodeText(await buffer(process.stdin));
  if (value === null) throw new UsageError('the value on standard input is not valid UTF-8 text');
  const withoutLineEnd = value.replace(/\r?\n$/, '');
  if (withoutLineEnd === '') throw new UsageError('the value is missing on standard input');
  return withoutLineEnd;
}

async function assertTeam(services: INestApplicationContext, uid: string): Promise<void> {
  const teams = await services.get(TeamsService).list();
  if (!teams.some((team) => team.uid === uid)) throw unknownTeam(uid);
}
