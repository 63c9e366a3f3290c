import { type OptionValues, text, UsageError } from '../cli/command.js';
import { expiryOption } from '../cli/input.js';
import { printResult, printTable, timeCell } from '../cli/output.js';
import { allOf, findUser, pathTo } from '../remote/administration.js';
import type { ApiClient } from '../remote/api-client.js';
import { apiCommand } from '../remote/connect.js';

const OWNER_OPTIONS = {
  user: text('uid|email', 'Another user that owns the token, for administrators of the installation. Default: you.'),
  'service-account': text('uid', 'Service account that owns the token.'),
  agent: text('uid', 'Agent identity that owns the token.'),
};
type OwnerValues = OptionValues<typeof OWNER_OPTIONS>;

interface RemoteToken {
  readonly uid: string;
  readonly name: string;
  readonly prefix: string;
  readonly owner: { readonly type: string; readonly uid: string };
  readonly created_at: string;
  readonly expires_at?: string;
  readonly last_used_at?: string;
}

/** Only the token goes to standard output, so that a script can read it; it is returned only once. */
export const create = apiCommand({
  options: {
    ...OWNER_OPTIONS,
    name: text('text', 'Name of the token.', { default: 'command line' }),
    expires: expiryOption('token'),
  },
  check: checkOwner,
  run: async (api, { name, expires, ...values }) => {
    const body = { name, expires_at: expires, ...(await ownerOf(api, values)) };
    const made = await api.post<RemoteToken & { token: string }>('/tokens', body);
    const { type, uid } = made.owner;
    process.stderr.write(`Token ${made.uid} of ${type.replace('_', ' ')} ${uid}; it is returned only once.\n`);
    printResult(values, made, made.token);
  },
});

/** Of one owner, without revoked ones. */
export const list = apiCommand({
  options: OWNER_OPTIONS,
  check: checkOwner,
  run: async (api, values) => {
    const tokens = await allOf<RemoteToken>(api, '/tokens', 'tokens', await ownerOf(api, values));
    const columns = ['UID', 'TOKEN', 'NAME', 'OWNER', 'CREATED', 'EXPIRES', 'LAST USED'];
    printTable(values, tokens, columns, (token) => [
      ...[token.uid, token.prefix, token.name, `${token.owner.type} ${token.owner.uid}`],
      ...[timeCell(token.created_at), timeCell(token.expires_at), timeCell(token.last_used_at)],
    ]);
  },
});

export const revoke = apiCommand({
  argument: 'token-uid',
  run: async (api, values, uid) => {
    await api.delete(pathTo('tokens', uid));
    printResult(values, { uid, revoked: true }, `Token ${uid} is revoked.`);
  },
});

function checkOwner(values: OwnerValues): void {
  const given = [values.user, values['service-account'], values.agent].filter((value) => value !== undefined);
  if (given.length > 1) throw new UsageError('--user, --service-account and --agent are mutually exclusive');
}

/** The fields of a request that select the owner. An agent identity has the UID of its service account. */
async function ownerOf(api: ApiClient, values: OwnerValues): Promise<Record<string, string>> {
  const account = values['service-account'] ?? values.agent;
  if (account !== undefined) return { service_account_uid: account };
  return values.user === undefined ? {} : { user_uid: await findUser(api, values.user) };
}
