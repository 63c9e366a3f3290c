import type { INestApplicationContext } from '@nestjs/common';
import { AuditModule } from '#platform/audit';
import { PrincipalDirectory, type PrincipalRef, TokensService, UsersService } from '#platform/auth';
import { CommandError, text, UsageError } from '../cli/command.js';
import { expiryOption } from '../cli/input.js';
import { printResult } from '../cli/output.js';
import { recordCommand } from '../process/audit-command.js';
import { databaseCommandWith } from '../process/services.js';

const auditedCommand = databaseCommandWith(AuditModule);

const TOKEN_OPTIONS = {
  'token-name': text('text', 'Name of the token.', { default: 'command line' }),
  expires: expiryOption('token'),
};
interface TokenValues {
  readonly 'token-name': string | undefined;
  readonly expires: Date | undefined;
  readonly json: boolean;
}

/** The first administrator of an installation, or another one when nobody can sign in any more. */
export const create = auditedCommand({
  argument: 'email',
  options: { name: text('text', 'Display name. Default: the e-mail address.'), ...TOKEN_OPTIONS },
  check: (_values, email) => {
    if (!/^[^@\s]+@[^@\s]+$/.test(email)) throw new UsageError('<email> must be an e-mail address');
  },
  run: async (services, values, email) => {
    const users = services.get(UsersService);
    const result = await users.create({ email, displayName: values.name ?? email, isAdministrator: true });
    if (result.kind === 'created') {
      const { uid } = result.user;
      await recordUser(services, 'user.created', uid, email);
      return createToken(services, uid, values);
    }
    // A user with this address becomes an administrator, and is enabled.
    const uid = await findUser(services, email);
    // This process cannot pause the schedules of the person who may have accepted the invitation.
    if ((await users.find(uid))?.isEmailVerified === false)
      throw new CommandError(
        `user ${email} has accepted an invitation, and nobody has verified the address. An administrator can make the user one with \`PUT /users/${uid}\`; or name another address.`,
      );
    await users.update(uid, { isAdministrator: true, isDisabled: false });
    await recordUser(services, 'user.updated', uid, email);
    return createToken(services, uid, values);
  },
});

/** A new token of an administrator, who has lost all others. */
export const token = auditedCommand({
  argument: 'uid|email',
  options: TOKEN_OPTIONS,
  run: async (services, values, wanted) => {
    const uid = await findUser(services, wanted);
    const user = await services.get(UsersService).find(uid);
    if (user?.isAdministrator !== true)
      throw new CommandError(`user ${wanted} is not an administrator; \`headrace administrator create\` makes one.`);
    return createToken(services, uid, values);
  },
});

/** Only the token goes to standard output; it is returned only once. */
async function createToken(services: INestApplicationContext, userUid: string, values: TokenValues): Promise<void> {
  const owner: PrincipalRef = { type: 'user', uid: userUid };
  const { 'token-name': name = 'command line', expires: expiresAt } = values;
  const result = await services.get(TokensService).create({ owner, name, ...(expiresAt && { expiresAt }) });
  switch (result.kind) {
    case 'already_expired':
      throw new CommandError('--expires must be in the future.');
    case 'unknown_owner':
      throw new CommandError(`user ${userUid} is disabled; \`headrace administrator create\` enables the user.`);
    case 'limit_reached':
      throw new CommandError(`user ${userUid} has ${result.limit} tokens; revoke one.`);
    case 'created': {
      const { uid } = result.record;
      const target = { type: 'token', uid, name };
      await recordCommand(services, null, { action: 'token.created', target, details: { user_uid: userUid } });
      process.stderr.write(`Token ${uid} of user ${userUid}; it is returned only once.\n`);
      return printResult(values, { uid, user_uid: userUid, token: result.token }, result.token);
    }
  }
}

const recordUser = (services: INestApplicationContext, action: string, uid: string, name: string): Promise<void> =>
  recordCommand(services, null, {
    action,
    target: { type: 'user', uid, name },
    details: { is_administrator: true },
  });

async function findUser(services: INestApplicationContext, wanted: string): Promise<string> {
  const by = wanted.includes('@') ? { email: wanted } : { uid: wanted };
  const uid = await services.get(PrincipalDirectory).findUser(by);
  if (uid === null) throw new CommandError(`user ${wanted} not found.`);
  return uid;
}
