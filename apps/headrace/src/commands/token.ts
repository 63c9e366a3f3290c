import type { INestApplicationContext } from '@nestjs/common';
import { type PrincipalRef, TokensService, UsersService } from '#platform/auth';
import { CommandError, type OptionValues, text, UsageError } from '../cli/command.js';
import { expiryOption } from '../cli/input.js';
import { printResult, printRows } from '../cli/output.js';
import { databaseCommand } from '../process/services.js';

const OWNER_OPTIONS = {
  user: text('uid|email', 'User that owns the token.'),
  'service-account': text('uid', 'Service account that owns the token.'),
  agent: text('uid', 'Agent identity that owns the token.'),
};
type OwnerValues = OptionValues<typeof OWNER_OPTIONS>;

/** Only the token goes to standard output, so that a script can read it; it is returned only once. */
export const create = databaseCommand({
  options: {
    ...OWNER_OPTIONS,
    name: text('text', 'Name of the token.', { default: 'command line' }),
    expires: expiryOption('token'),
  },
  check: (values) => {
    if (!namesOwner(values)) throw new UsageError('one of --user, --service-account and --agent is required');
  },
  run: async (services, { name = 'command line', expires: expiresAt, ...values }) => {
    const owner = await findOwner(services, values);
    const result = await services.get(TokensService).create({ owner, name, ...(expiresAt && { expiresAt }) });
    if (result.kind === 'unknown_owner')
      throw new CommandError(`${owner.type.replace('_', ' ')} ${owner.uid} not found.`);
    if (result.kind === 'already_expired') throw new CommandError('--expires must be in the future.');
    process.stderr.write(`Token ${result.record.uid} of ${owner.type} ${owner.uid}; it is returned only once.\n`);
    printResult(values, { uid: result.record.uid, token: result.token }, result.token);
  },
});

export const list = databaseCommand({
  options: OWNER_OPTIONS,
  check: (values) => void namesOwner(values),
  run: async (services, values) => {
    const filter = namesOwner(values) ? { owner: await findOwner(services, values) } : {};
    const tokens = await services.get(TokensService).list(filter);
    const rows = tokens.map((token) => [
      ...[token.uid, token.prefix, token.name, `${token.owner.type} ${token.owner.uid}`],
      ...[token.createdAt, token.expiresAt, token.revokedAt, token.lastUsedAt],
    ]);
    printRows(values, ['UID', 'TOKEN', 'NAME', 'OWNER', 'CREATED', 'EXPIRES', 'REVOKED', 'LAST USED'], rows);
  },
});

export const revoke = databaseCommand({
  argument: 'token-uid',
  run: async (services, values, tokenUid) => {
    const { kind } = await services.get(TokensService).revoke({ tokenUid });
    if (kind === 'unknown')
      throw new CommandError(`token ${tokenUid} not found; \`headrace token list\` shows the UIDs.`);
    const text = kind === 'revoked' ? `Token ${tokenUid} is revoked.` : `Token ${tokenUid} was already revoked.`;
    printResult(values, { uid: tokenUid, revoked: true }, text);
  },
});

function namesOwner(values: OwnerValues): boolean {
  const given = [values.user, values['service-account'], values.agent].filter((value) => value !== undefined);
  if (given.length > 1) throw new UsageError('--user, --service-account and --agent are mutually exclusive');
  return given.length === 1;
}

/** Users are addressed by UID or e-mail address. An agent identity has the UID of its service account. */
async function findOwner(services: INestApplicationContext, values: OwnerValues): Promise<PrincipalRef> {
  if (values.user === undefined)
    return { type: 'service_account', uid: values['service-account'] ?? values.agent ?? '' };
  if (!values.user.includes('@')) return { type: 'user', uid: values.user };
  const users = await services.get(UsersService).list();
  const found = users.find(({ email }) => email.toLowerCase() === values.user?.toLowerCase());
  if (!found) throw new CommandError(`user ${values.user} not found.`);
  return { type: 'user', uid: found.uid };
}
