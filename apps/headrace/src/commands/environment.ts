import {
  choice,
  command,
  CommandError,
  integer,
  type OptionValues,
  required,
  requiredText,
  text,
  UsageError,
} from '../cli/command.js';
import { parseExpiry, readConfigFile, readSecretFile } from '../cli/input.js';
import { printable, printResult, printRows, printTable, timeCell } from '../cli/output.js';
import { OWNER_OPTIONS, REMOTE_OPTIONS, TEAM_FILTER } from '../cli/shared-options.js';
import { connect } from '../remote/connect.js';
import { readOwner } from '../remote/run-options.js';

const FILE = { file: requiredText('path', 'JSON or YAML file; - reads standard input.') };
const CREATE_OPTIONS = { ...FILE, ...OWNER_OPTIONS, ...REMOTE_OPTIONS };
const LIST_OPTIONS = {
  ...TEAM_FILTER,
  sort: choice(['name', 'last_updated'], 'Field to sort by.', { default: 'name' }),
  ...REMOTE_OPTIONS,
};
const GRANT_OPTIONS = {
  user: text('uid|email', 'User who gets access.'),
  team: text('uid', 'Team that gets access.'),
  ...REMOTE_OPTIONS,
};
const LINK_OPTIONS = {
  expires: text('duration|date', 'When the link expires, such as 30d or 2030-01-31T00:00:00Z.'),
  'max-uses': integer(1, 9_999, 'How often the link can be redeemed.'),
  ...REMOTE_OPTIONS,
};
const REVOKE_OPTIONS = { grant: text('uid', 'Grant.'), link: text('uid', 'Link.'), ...REMOTE_OPTIONS };
const REDEEM_OPTIONS = {
  'link-file': requiredText('path', 'File with the link; - reads standard input.'),
  ...REMOTE_OPTIONS,
};

/** Fields of an environment that commands show. */
interface RemoteEnvironment {
  readonly uid: string;
  readonly config: { readonly name?: string };
  readonly last_updated: string;
  readonly setup_failed: boolean;
  readonly last_task_run_timestamp?: string | null;
  readonly scope?: { readonly type: string; readonly uid?: string };
}

interface RemotePrincipal {
  readonly uid?: string;
  readonly email?: string;
}

interface RemoteGrant {
  readonly uid: string;
  readonly user?: RemotePrincipal;
  readonly team_uid?: string;
  readonly created_at: string;
}

interface RemoteLink {
  readonly uid: string;
  readonly expires_at?: string;
  readonly max_uses?: number;
  readonly uses: number;
  readonly created_at: string;
}

/** The UID goes to standard output. */
export const create = command({
  options: CREATE_OPTIONS,
  run: async (values) => {
    const body = { ...readOwner(values), config: readConfigFile(values.file) };
    const api = await connect(values);
    const made = await api.request<RemoteEnvironment>('POST', '/environments', body, values.team);
    process.stderr.write(`Environment ${named(made)} belongs to ${ownerOf(made)}.\n`);
    printResult(values, made, made.uid);
    return 0;
  },
});

export const list = command({
  options: LIST_OPTIONS,
  run: async (values) => {
    const api = await connect(values);
    const path = `/agent/environments?sort_by=${values.sort ?? 'name'}`;
    const answer = await api.request<{ environments: RemoteEnvironment[] }>('GET', path, undefined, values.team);
    const columns = ['UID', 'NAME', 'OWNER', 'SET-UP', 'LAST RUN', 'UPDATED'];
    printTable(values, answer.environments, columns, (environment) => [
      ...[environment.uid, environment.config.name ?? null, ownerOf(environment)],
      ...[environment.setup_failed ? 'failed' : 'ok', timeCell(environment.last_task_run_timestamp)],
      timeCell(environment.last_updated),
    ]);
    return 0;
  },
});

/** Prints the configuration in the format of `update`, where `***` keeps a value. Remarks go to standard error. */
export const show = command({
  argument: 'uid',
  options: REMOTE_OPTIONS,
  run: async (values, uid) => {
    const api = await connect(values);
    const environment = await api.request<RemoteEnvironment>('GET', environmentPath(uid));
    const setup = environment.setup_failed ? '; its last set-up failed' : '';
    process.stderr.write(`Environment ${named(environment)} belongs to ${ownerOf(environment)}${setup}.\n`);
    process.stdout.write(`${JSON.stringify(environment.config, null, 2)}\n`);
    return 0;
  },
});

export const update = command({
  argument: 'uid',
  options: { ...FILE, ...REMOTE_OPTIONS },
  run: async (values, uid) => {
    const config = readConfigFile(values.file);
    const api = await connect(values);
    const changed = await api.request<RemoteEnvironment>('PUT', environmentPath(uid), { config });
    process.stderr.write(`Environment ${named(changed)} is updated.\n`);
    return 0;
  },
});

export const remove = command({
  argument: 'uid',
  options: REMOTE_OPTIONS,
  run: async (values, uid) => {
    await (await connect(values)).delete(environmentPath(uid));
    process.stderr.write(`Environment ${printable(uid)} is deleted, with its grants and links.\n`);
    return 0;
  },
});

/** The UID of the grant goes to standard output. */
export const grant = command({
  argument: 'uid',
  options: GRANT_OPTIONS,
  run: async (values, uid) => {
    const body = granteeOf(values);
    const api = await connect(values);
    const made = await api.request<RemoteGrant>('POST', environmentPath(uid, '/grants'), body);
    process.stderr.write('Runs of the grantee get the values of the variables and secrets of the environment.\n');
    printResult(values, made, made.uid);
    return 0;
  },
});

/** Prints the URL; the secret after its # is returned only once. */
export const link = command({
  argument: 'uid',
  options: LINK_OPTIONS,
  run: async (values, uid) => {
    const body = {
      ...(values.expires !== undefined && { expires_at: parseExpiry(values.expires, new Date()).toISOString() }),
      ...(values['max-uses'] !== undefined && { max_uses: values['max-uses'] }),
    };
    const api = await connect(values);
    const made = await api.request<RemoteLink & { url: string }>('POST', environmentPath(uid, '/links'), body);
    process.stderr.write(
      `Link ${made.uid}: everybody with it and an account can use the environment. It is returned only once.\n`,
    );
    printResult(values, made, made.url);
    return 0;
  },
});

export const sharing = command({
  argument: 'uid',
  options: REMOTE_OPTIONS,
  run: async (values, uid) => {
    const api = await connect(values);
    const { grants } = await api.request<{ grants: RemoteGrant[] }>('GET', environmentPath(uid, '/grants'));
    const { links } = await api.request<{ links: RemoteLink[] }>('GET', environmentPath(uid, '/links'));
    const rows = [
      ...grants.map((item) => ['grant', item.uid, granteeText(item), null, timeCell(item.created_at)]),
      ...links.map((item) => ['link', item.uid, usesText(item), timeCell(item.expires_at), timeCell(item.created_at)]),
    ];
    printRows(values, ['KIND', 'UID', 'FOR', 'EXPIRES', 'CREATED'], rows);
    return 0;
  },
});

export const revoke = command({
  argument: 'uid',
  options: REVOKE_OPTIONS,
  run: async (values, uid) => {
    if ((values.grant === undefined) === (values.link === undefined))
      throw new UsageError('exactly one of --grant and --link is required');
    const [kind, shared] =
      values.grant === undefined ? ['link', required('link', values.link)] : ['grant', required('grant', values.grant)];
    await (await connect(values)).delete(environmentPath(uid, `/${kind}s/${encodeURIComponent(shared)}`));
    process.stderr.write(`The ${kind} is revoked, with all access through it.\n`);
    return 0;
  },
});

/** The link is a secret, so it comes from a file: other users of the machine can see arguments. Prints the UID. */
export const redeem = command({
  options: REDEEM_OPTIONS,
  run: async (values) => {
    const text = readSecretFile(values['link-file'], '--link-file')?.trim() ?? '';
    const token = text.slice(text.indexOf('#') + 1);
    if (token === '') throw new CommandError('--link-file: the file is empty.');
    const api = await connect(values);
    const environment = await api.request<RemoteEnvironment>('POST', '/environments/links/redeem', { token });
    printResult(values, environment, environment.uid);
    return 0;
  },
});

const named = ({ uid, config }: RemoteEnvironment): string =>
  config.name === undefined ? uid : `${uid} (${printable(config.name)})`;

const ownerOf = ({ scope }: RemoteEnvironment): string =>
  `${scope?.type === 'Team' ? 'team' : 'user'} ${printable(scope?.uid ?? '')}`;

/** Users are addressed by UID or e-mail address. */
function granteeOf({ user, team }: OptionValues<typeof GRANT_OPTIONS>): object {
  if ((user === undefined) === (team === undefined))
    throw new UsageError('exactly one of --user and --team is required');
  if (user === undefined) return { team_uid: required('team', team) };
  return required('user', user).includes('@') ? { user_email: user } : { user_uid: user };
}

const granteeText = ({ user, team_uid: team }: RemoteGrant): string =>
  team === undefined ? `user ${user?.email ?? user?.uid ?? ''}` : `team ${team}`;

const usesText = ({ uses, max_uses: max }: RemoteLink): string =>
  max === undefined ? `${uses} so far` : `${uses} of ${max}`;

/** The uid is encoded, so that it cannot address another resource. */
const environmentPath = (uid: string, rest = ''): string => `/environments/${encodeURIComponent(uid)}${rest}`;
