import { parseArgs } from 'node:util';
import { onlyPositional, required } from '../cli/arguments.js';
import { type CommandModule, UsageError } from '../cli/command.js';
import { printResult, printTable } from '../cli/output.js';
import { printable } from '../cli/printable.js';
import { readConfigFile } from '../cli/read-config-file.js';
import { connect, REMOTE_OPTIONS } from '../remote/connect.js';
import { environmentPath, type RemoteEnvironment } from '../remote/environments.js';

const FILE = { ...REMOTE_OPTIONS, file: { type: 'string' } } as const;
const CREATE_OPTIONS = { ...FILE, team: { type: 'string' }, personal: { type: 'boolean' } } as const;
const LIST_OPTIONS = { ...REMOTE_OPTIONS, team: { type: 'string' }, sort: { type: 'string' } } as const;
const SORTS = ['name', 'last_updated'];

/** The UID goes to standard output. */
export const create: CommandModule = {
  run: async (args) => {
    const { values } = parseArgs({ args: [...args], options: CREATE_OPTIONS });
    if (values.personal === true && values.team !== undefined)
      throw new UsageError('--team and --personal exclude each other');
    const config = readConfigFile(required('file', values.file));
    const body = { config, ...(values.personal === true && { team: false }) };
    const api = await connect(values);
    const made = await api.request<RemoteEnvironment>('POST', '/environments', body, values.team);
    process.stderr.write(`Environment ${named(made)} belongs to ${ownerOf(made)}.\n`);
    printResult(values, made, made.uid);
    return 0;
  },
};

export const list: CommandModule = {
  run: async (args) => {
    const { values } = parseArgs({ args: [...args], options: LIST_OPTIONS });
    const sort = values.sort ?? 'name';
    if (!SORTS.includes(sort)) throw new UsageError(`--sort must be one of ${SORTS.join(', ')}`);
    const api = await connect(values);
    const path = `/agent/environments?sort_by=${sort}`;
    const answer = await api.request<{ environments: RemoteEnvironment[] }>('GET', path, undefined, values.team);
    const columns = ['UID', 'NAME', 'OWNER', 'SET-UP', 'LAST RUN', 'UPDATED'];
    printTable(values, answer.environments, columns, (environment) => [
      ...[environment.uid, environment.config.name ?? null, ownerOf(environment)],
      ...[environment.setup_failed ? 'failed' : 'ok', timeOf(environment.last_task_run_timestamp)],
      timeOf(environment.last_updated),
    ]);
    return 0;
  },
};

/** The configuration goes to standard output, fit for `update`: `***` keeps a value. Everything else to standard error. */
export const show: CommandModule = {
  run: async (args) => {
    const { values, positionals } = parseArgs({ args: [...args], options: REMOTE_OPTIONS, allowPositionals: true });
    const uid = onlyPositional('uid', positionals);
    const api = await connect(values);
    const environment = await api.request<RemoteEnvironment>('GET', environmentPath(uid));
    const setup = environment.setup_failed ? '; its last set-up failed' : '';
    process.stderr.write(`Environment ${named(environment)} belongs to ${ownerOf(environment)}${setup}.\n`);
    process.stdout.write(`${JSON.stringify(environment.config, null, 2)}\n`);
    return 0;
  },
};

export const update: CommandModule = {
  run: async (args) => {
    const { values, positionals } = parseArgs({ args: [...args], options: FILE, allowPositionals: true });
    const uid = onlyPositional('uid', positionals);
    const config = readConfigFile(required('file', values.file));
    const api = await connect(values);
    const changed = await api.request<RemoteEnvironment>('PUT', environmentPath(uid), { config });
    process.stderr.write(`Environment ${named(changed)} is changed.\n`);
    return 0;
  },
};

export const remove: CommandModule = {
  run: async (args) => {
    const { values, positionals } = parseArgs({ args: [...args], options: REMOTE_OPTIONS, allowPositionals: true });
    const uid = onlyPositional('uid', positionals);
    await (await connect(values)).delete(environmentPath(uid));
    process.stderr.write(`Environment ${printable(uid)} is deleted, and everything that shared it.\n`);
    return 0;
  },
};

const named = ({ uid, config }: RemoteEnvironment): string =>
  config.name === undefined ? uid : `${uid} (${printable(config.name)})`;

const ownerOf = ({ scope }: RemoteEnvironment): string =>
  `${scope?.type === 'Team' ? 'team' : 'user'} ${printable(scope?.uid ?? '')}`;

const timeOf = (value: string | null | undefined): Date | null =>
  value === null || value === undefined ? null : new Date(value);
