import type { INestApplicationContext } from '@nestjs/common';
import { type PrincipalRef, TokensService, UsersService } from '#platform/auth';
import { command, CommandError, type OptionValues, text, UsageError } from '../cli/command.js';
import { parseExpiry } from '../cli/input.js';
import { printResult, printRows } from '../cli/output.js';
import { OUTPUT_OPTIONS } from '../cli/shared-options.js';
import { withUseCases } from '../process/services.js';

const OWNER_OPTIONS = {
  user: text('uid|email', 'User that owns the token.'),
  'service-account': text('uid', 'Service account that owns the token.'),
  agent: text('uid', 'Agent identity that owns the token.'),
};
const CREATE_OPTIONS = {
  ...OWNER_OPTIONS,
  name: text('text', 'Name of the token.', { default: 'command line' }),
  expires: text('duration|date', 'When the token expires, such as 30d or 2030-01-31T00:00:00Z.'),
  ...OUTPUT_OPTIONS,
};
type OwnerValues = OptionValues<typeof OWNER_OPTIONS>;

/** Only the token goes to standard output, so that a script can read it; it is returned only once. */
export const create = command({
  options: CREATE_OPTIONS,
  run: (values) => {
    if (!namesOwner(values)) throw new UsageError('one of --user, --service-account and --agent is required');
    const expiresAt = values.expires === undefined ? undefined : parseExpiry(values.expires, new Date());
    return withUseCases(async (services) => {
      const owner = await findOwner(services, values);
      const result = await services
        .get(TokensService)
        .create({ owner, name: values.name ?? 'command line', ...(expiresAt && { expiresAt }) });
      if (result.kind === 'unknown_owner')
        throw new CommandError(`${owner.type.replace('_', ' ')} ${owner.uid} not found.`);
      if (result.kind === 'already_expired') throw new CommandError('--expires must be in the future.');
      process.stderr.write(`Token ${result.record.uid} of ${owner.type} ${owner.uid}; it is returned only once.\n`);
      printResult(values, { uid: result.record.uid, token: result.token }, result.token);
      return 0;
    });
  },
});

export const list = command({
  options: { ...OWNER_OPTIONS, ...OUTPUT_OPTIONS },
  run: (values) => {
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
});

export const revoke = command({
  argument: 'token-uid',
  options: OUTPUT_OPTIONS,
  run: (values, tokenUid) => {
    return withUseCases(async (services) => {
      const { kind } = await services.get(TokensService).revoke({ tokenUid });
      if (kind === 'unknown')
        throw new CommandError(`token ${tokenUid} not found; \`headrace token list\` shows the UIDs.`);
      const text = kind === 'revoked' ? `Token ${tokenUid} is revoked.` : `Token ${tokenUid} was already revoked.`;
      printResult(values, { uid: tokenUid, revoked: true }, text);
      return 0;
    });
  },
});

/** Whether an owner is given. Throws when there are several. */
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
