import { parseArgs } from 'node:util';
import { onlyPositional, required } from '../cli/arguments.js';
import { CommandError, type CommandModule, UsageError } from '../cli/command.js';
import { printResult, printRows } from '../cli/output.js';
import { parseExpiry } from '../cli/parse-expiry.js';
import { readSecretFile } from '../cli/read-secret-file.js';
import { connect, REMOTE_OPTIONS } from '../remote/connect.js';
import { environmentPath, type RemoteEnvironment, type RemoteGrant, type RemoteLink } from '../remote/environments.js';

const GRANT_OPTIONS = { ...REMOTE_OPTIONS, user: { type: 'string' }, team: { type: 'string' } } as const;
const LINK_OPTIONS = { ...REMOTE_OPTIONS, expires: { type: 'string' }, 'max-uses': { type: 'string' } } as const;
const REVOKE_OPTIONS = { ...REMOTE_OPTIONS, grant: { type: 'string' }, link: { type: 'string' } } as const;
const REDEEM_OPTIONS = { ...REMOTE_OPTIONS, 'link-file': { type: 'string' } } as const;

/** The UID of the grant goes to standard output. */
export const grant: CommandModule = {
  run: async (args) => {
    const { values, positionals } = parseArgs({ args: [...args], options: GRANT_OPTIONS, allowPositionals: true });
    const uid = onlyPositional('uid', positionals);
    const body = granteeOf(values);
    const api = await connect(values);
    const made = await api.request<RemoteGrant>('POST', environmentPath(uid, '/grants'), body);
    process.stderr.write('Their runs get the values of the environment’s variables and secrets.\n');
    printResult(values, made, made.uid);
    return 0;
  },
};

/** The address goes to standard output; what stands behind its # is told this once. */
export const link: CommandModule = {
  run: async (args) => {
    const { values, positionals } = parseArgs({ args: [...args], options: LINK_OPTIONS, allowPositionals: true });
    const uid = onlyPositional('uid', positionals);
    const body = {
      ...(values.expires !== undefined && { expires_at: parseExpiry(values.expires, new Date()).toISOString() }),
      ...(values['max-uses'] !== undefined && { max_uses: parseUses(values['max-uses']) }),
    };
    const api = await connect(values);
    const made = await api.request<RemoteLink & { url: string }>('POST', environmentPath(uid, '/links'), body);
    process.stderr.write(
      `Link ${made.uid}; whoever has it and an account gets to use the environment. It is not shown again.\n`,
    );
    printResult(values, made, made.url);
    return 0;
  },
};

/** With whom an environment is shared. */
export const sharing: CommandModule = {
  run: async (args) => {
    const { values, positionals } = parseArgs({ args: [...args], options: REMOTE_OPTIONS, allowPositionals: true });
    const uid = onlyPositional('uid', positionals);
    const api = await connect(values);
    const { grants } = await api.request<{ grants: RemoteGrant[] }>('GET', environmentPath(uid, '/grants'));
    const { links } = await api.request<{ links: RemoteLink[] }>('GET', environmentPath(uid, '/links'));
    const rows = [
      ...grants.map((item) => ['grant', item.uid, granteeText(item), null, new Date(item.created_at)]),
      ...links.map((item) => ['link', item.uid, usesText(item), expiryOf(item), new Date(item.created_at)]),
    ];
    printRows(values, ['KIND', 'UID', 'FOR', 'EXPIRES', 'CREATED'], rows);
    return 0;
  },
};

export const revoke: CommandModule = {
  run: async (args) => {
    const { values, positionals } = parseArgs({ args: [...args], options: REVOKE_OPTIONS, allowPositionals: true });
    const uid = onlyPositional('uid', positionals);
    if ((values.grant === undefined) === (values.link === undefined))
      throw new UsageError('one of --grant and --link is needed');
    const [kind, shared] =
      values.grant === undefined ? ['link', required('link', values.link)] : ['grant', required('grant', values.grant)];
    await (await connect(values)).delete(environmentPath(uid, `/${kind}s/${encodeURIComponent(shared)}`));
    process.stderr.write(`The ${kind} is revoked, and what it gave.\n`);
    return 0;
  },
};

/** The link comes from a file or standard input: others on the machine can see arguments. Prints the environment's UID. */
export const redeem: CommandModule = {
  run: async (args) => {
    const { values } = parseArgs({ args: [...args], options: REDEEM_OPTIONS });
    const text = readSecretFile(required('link-file', values['link-file']), '--link-file')?.trim() ?? '';
    const token = text.slice(text.indexOf('#') + 1);
    if (token === '') throw new CommandError('what --link-file names is empty.');
    const api = await connect(values);
    const environment = await api.request<RemoteEnvironment>('POST', '/environments/links/redeem', { token });
    printResult(values, environment, environment.uid);
    return 0;
  },
};

/** Users are named by UID or e-mail address. */
function granteeOf({ user, team }: { readonly user?: string; readonly team?: string }): object {
  if ((user === undefined) === (team === undefined)) throw new UsageError('one of --user and --team is needed');
  if (user === undefined) return { team_uid: required('team', team) };
  return required('user', user).includes('@') ? { user_email: user } : { user_uid: user };
}

const granteeText = ({ user, team_uid: team }: RemoteGrant): string =>
  team === undefined ? `user ${user?.email ?? user?.uid ?? ''}` : `team ${team}`;

const usesText = ({ uses, max_uses: max }: RemoteLink): string =>
  max === undefined ? `${uses} so far` : `${uses} of ${max}`;

const expiryOf = ({ expires_at: at }: RemoteLink): Date | null => (at === undefined ? null : new Date(at));

function parseUses(value: string): number {
  if (!/^[1-9]\d{0,3}$/.test(value)) throw new UsageError('--max-uses must be a whole number of at least 1');
  return Number(value);
}
