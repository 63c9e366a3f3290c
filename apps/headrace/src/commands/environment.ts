import {
  choice,
  CommandError,
  filled,
  integer,
  type OptionValues,
  requiredText,
  text,
  UsageError,
} from '../cli/command.js';
import { expiryOption, readConfigFile, readSecretFile } from '../cli/input.js';
import { printable, printJson, printResult, printRows, printTable, timeCell } from '../cli/output.js';
import { FILE_OPTION, OWNER_OPTIONS, TEAM_FILTER } from '../cli/shared-options.js';
import { apiCommand } from '../remote/connect.js';
import { readOwner } from '../remote/run-options.js';

const GRANT_OPTIONS = {
  user: text('uid|email', 'User who gets access.'),
  team: text('uid', 'Team that gets access.'),
};

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

export const create = apiCommand({
  options: { ...FILE_OPTION, ...OWNER_OPTIONS },
  run: async (api, values) => {
    const body = { ...readOwner(values), config: readConfigFile(values.file) };
    const made = await api.post<RemoteEnvironment>('/environments', body, values.team);
    process.stderr.write(`Environment ${named(made)} belongs to ${ownerOf(made)}.\n`);
    printResult(values, made, made.uid);
  },
});

export const list = apiCommand({
  options: {
    ...TEAM_FILTER,
    sort: choice(['name', 'last_updated'], 'Field to sort by.', { default: 'name' }),
  },
  run: async (api, values) => {
    const path = `/agent/environments?sort_by=${values.sort ?? 'name'}`;
    const { environments } = await api.get<{ environments: RemoteEnvironment[] }>(path, values.team);
    const columns = ['UID', 'NAME', 'OWNER', 'SET-UP', 'LAST RUN', 'UPDATED'];
    printTable(values, environments, columns, (environment) => [
      ...[environment.uid, environment.config.name ?? null, ownerOf(environment)],
      ...[environment.setup_failed ? 'failed' : 'ok', timeCell(environment.last_task_run_timestamp)],
      timeCell(environment.last_updated),
    ]);
  },
});

/** Prints the configuration in the format of `update`, where `***` keeps a value. Remarks go to standard error. */
export const show = apiCommand({
  argument: 'uid',
  run: async (api, _values, uid) => {
    const environment = await api.get<RemoteEnvironment>(environmentPath(uid));
    const setup = environment.setup_failed ? '; its last set-up failed' : '';
    process.stderr.write(`Environment ${named(environment)} belongs to ${ownerOf(environment)}${setup}.\n`);
    printJson(environment.config);
  },
});

export const update = apiCommand({
  argument: 'uid',
  options: FILE_OPTION,
  run: async (api, { file }, uid) => {
    const body = { config: readConfigFile(file) };
    const changed = await api.request<RemoteEnvironment>('PUT', environmentPath(uid), body);
    process.stderr.write(`Environment ${named(changed)} is updated.\n`);
  },
});

export const remove = apiCommand({
  argument: 'uid',
  run: async (api, _values, uid) => {
    await api.delete(environmentPath(uid));
    process.stderr.write(`Environment ${printable(uid)} is deleted, with its grants and links.\n`);
  },
});

export const grant = apiCommand({
  argument: 'uid',
  options: GRANT_OPTIONS,
  run: async (api, values, uid) => {
    const made = await api.post<RemoteGrant>(environmentPath(uid, '/grants'), granteeOf(values));
    process.stderr.write('Runs of the grantee get the values of the variables and secrets of the environment.\n');
    printResult(values, made, made.uid);
  },
});

/** Prints the URL; the secret after its # is returned only once. */
export const link = apiCommand({
  argument: 'uid',
  options: {
    expires: expiryOption('link'),
    'max-uses': integer(1, 9_999, 'How often the link can be redeemed.'),
  },
  run: async (api, values, uid) => {
    const body = { expires_at: values.expires, max_uses: values['max-uses'] };
    const made = await api.post<RemoteLink & { url: string }>(environmentPath(uid, '/links'), body);
    process.stderr.write(
      `Link ${made.uid}: everybody with it and an account can use the environment. It is returned only once.\n`,
    );
    printResult(values, made, made.url);
  },
});

export const sharing = apiCommand({
  argument: 'uid',
  run: async (api, values, uid) => {
    const { grants } = await api.get<{ grants: RemoteGrant[] }>(environmentPath(uid, '/grants'));
    const { links } = await api.get<{ links: RemoteLink[] }>(environmentPath(uid, '/links'));
    const rows = [
      ...grants.map((item) => ['grant', item.uid, granteeText(item), null, timeCell(item.created_at)]),
      ...links.map((item) => ['link', item.uid, usesText(item), timeCell(item.expires_at), timeCell(item.created_at)]),
    ];
    printRows(values, ['KIND', 'UID', 'FOR', 'EXPIRES', 'CREATED'], rows);
  },
});

export const revoke = apiCommand({
  argument: 'uid',
  options: { grant: text('uid', 'Grant.'), link: text('uid', 'Link.') },
  run: async (api, values, uid) => {
    const [kind, shared] = exactlyOne('grant', 'link', values);
    await api.delete(environmentPath(uid, `/${kind}s/${encodeURIComponent(shared)}`));
    process.stderr.write(`The ${kind} is revoked, with all access through it.\n`);
  },
});

/** The link is a secret, so it comes from a file: other users of the machine can see arguments. Prints the UID. */
export const redeem = apiCommand({
  options: { 'link-file': requiredText('path', 'File with the link; - reads standard input.') },
  run: async (api, values) => {
    const text = readSecretFile(values['link-file'], '--link-file')?.trim() ?? '';
    const token = text.slice(text.indexOf('#') + 1);
    if (token === '') throw new CommandError('--link-file: the file is empty.');
    const environment = await api.post<RemoteEnvironment>('/environments/links/redeem', { token });
    printResult(values, environment, environment.uid);
  },
});

const named = ({ uid, config }: RemoteEnvironment): string =>
  config.name === undefined ? uid : `${uid} (${printable(config.name)})`;

const ownerOf = ({ scope }: RemoteEnvironment): string =>
  `${scope?.type === 'Team' ? 'team' : 'user'} ${printable(scope?.uid ?? '')}`;

/** Users are addressed by UID or e-mail address. */
function granteeOf(values: OptionValues<typeof GRANT_OPTIONS>): object {
  const [kind, grantee] = exactlyOne('user', 'team', values);
  if (kind === 'team') return { team_uid: grantee };
  return grantee.includes('@') ? { user_email: grantee } : { user_uid: grantee };
}

function exactlyOne<Name extends string>(
  one: Name,
  other: Name,
  values: Readonly<Record<Name, string | undefined>>,
): readonly [Name, string] {
  if ((values[one] === undefined) === (values[other] === undefined))
    throw new UsageError(`exactly one of --${one} and --${other} is required`);
  const given = values[one] === undefined ? other : one;
  return [given, filled(`--${given}`, values[given])];
}

const granteeText = ({ user, team_uid: team }: RemoteGrant): string =>
  team === undefined ? `user ${user?.email ?? user?.uid ?? ''}` : `team ${team}`;

const usesText = ({ uses, max_uses: max }: RemoteLink): string =>
  max === undefined ? `${uses} so far` : `${uses} of ${max}`;

/** The uid is encoded, so that it cannot address another resource. */
const environmentPath = (uid: string, rest = ''): string => `/environments/${encodeURIComponent(uid)}${rest}`;
