import { parseArgs } from 'node:util';
import { type PrincipalRef, TokensService, UsersService } from '#platform/auth';
import type { INestApplicationContext } from '@nestjs/common';
import { onlyPositional } from '../cli/arguments.js';
import { CommandError, type CommandModule, UsageError } from '../cli/command.js';
import { OUTPUT_OPTIONS, printResult, printRows } from '../cli/output.js';
import { parseExpiry } from '../cli/parse-expiry.js';
import { withUseCases } from '../process/with-use-cases.js';

const OWNER = { user: { type: 'string' }, 'service-account': { type: 'string' }, agent: { type: 'string' } } as const;
type OwnerValues = { readonly [K in keyof typeof OWNER]?: string };

/** The token alone goes to standard output, so that a script can take it; it is shown this once. */
export const create: CommandModule = {
  run: (args) => {
    const { values } = parseArgs({
      args: [...args],
      options: { ...OWNER, ...OUTPUT_OPTIONS, name: { type: 'string' }, expires: { type: 'string' } },
    });
    if (!namesOwner(values)) throw new UsageError('one of --user, --service-account and --agent is needed');
    const expiresAt = values.expires === undefined ? undefined : parseExpiry(values.expires, new Date());
    return withUseCases(async (services) => {
      const owner = await findOwner(services, values);
      const result = await services
        .get(TokensService)
        .create({ owner, name: values.name ?? 'command line', ...(expiresAt && { expiresAt }) });
      if (result.kind === 'unknown_owner')
        throw new CommandError(`there is no ${owner.type.replace('_', ' ')} ${owner.uid}.`);
      if (result.kind === 'already_expired') throw new CommandError('--expires lies in the past.');
      process.stderr.write(`Token ${result.record.uid} of ${owner.type} ${owner.uid}; it is returned only once.\n`);
      printResult(values, { uid: result.record.uid, token: result.token }, result.token);
      return 0;
    });
  },
};

export const list: CommandModule = {
  run: (args) => {
    const { values } = parseArgs({ args: [...args], options: { ...OWNER, ...OUTPUT_OPTIONS } });
    return withUseCases(async (services) => {
      const tokens = await services
        .get(TokensService)
        .list(namesOwner(values) ? { owner: await findOwner(services, values) } : {});
      const rows = tokens.map((token) => [
        ...[token.uid, token.prefix, token.name, `${token.owner.type} ${token.owner.uid}`],
        ...[token.createdAt, token.expiresAt, token.revokedAt, token.lastUsedAt],
      ]);
      printRows(values, ['UID', 'TOKEN', 'NAME', 'OWNER', 'CREATED', 'EXPIRES', 'REVOKED', 'LAST USED'], rows);
      return 0;
    });
  },
};

export const revoke: CommandModule = {
  run: (args) => {
    const { values, positionals } = parseArgs({ args: [...args], options: OUTPUT_OPTIONS, allowPositionals: true });
    const tokenUid = onlyPositional('token-uid', positionals);
    return withUseCases(async (services) => {
      const { kind } = await services.get(TokensService).revoke({ tokenUid });
      if (kind === 'unknown')
        throw new CommandError(`token ${tokenUid} not found; \`headrace token list\` shows the UIDs.`);
      const text = kind === 'revoked' ? `Token ${tokenUid} is revoked.` : `Token ${tokenUid} was revoked before.`;
      printResult(values, { uid: tokenUid, revoked: true }, text);
      return 0;
    });
  },
};

/** Throws when there is more than one. */
function namesOwner(values: OwnerValues): boolean {
  const given = [values.user, values['service-account'], values.agent].filter((value) => value !== undefined);
  if (given.length > 1) throw new UsageError('--user, --service-account and --agent exclude each other');
  return given.length === 1;
}

/** Users are named by UID or e-mail address. An agent identity has the UID of its service account. */
async function findOwner(services: INestApplicationContext, values: OwnerValues): Promise<PrincipalRef> {
  if (values.user === undefined)
    return { type: 'service_account', uid: values['service-account'] ?? values.agent ?? '' };
  if (!values.user.includes('@')) return { type: 'user', uid: values.user };
  const users = await services.get(UsersService).list();
  const found = users.find(({ email }) => email.toLowerCase() === values.user?.toLowerCase());
  if (!found) throw new CommandError(`there is no user ${values.user}.`);
  return { type: 'user', uid: found.uid };
}
