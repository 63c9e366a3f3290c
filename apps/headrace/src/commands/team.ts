import { workerHostFault } from '#execution/worker-protocol';
import { choice, filled, filledText, flag, integer, parsed, parseInteger, text, UsageError } from '../cli/command.js';
import { printResult, printTable, renderTable, timeCell } from '../cli/output.js';
import { allOf, pathTo } from '../remote/administration.js';
import { apiCommand } from '../remote/connect.js';

const MAX_LIMIT = 999_999;
/** As in the configuration of a run. */
const MAX_DEFAULT_LENGTH = 256;
const LIMIT = 'Maximum number of hosted runs that execute concurrently; for administrators of the installation.';

interface RemoteTeam {
  readonly uid: string;
  readonly name: string;
  readonly max_concurrent_runs: number | null;
  readonly default_model_id: string | null;
  readonly default_worker_host: string | null;
  readonly features: { readonly metadata_filter?: boolean; readonly schedules?: boolean };
  readonly created_at: string;
}

const noneOr = <T>(value: string, description: string, parse: (given: string, option: string) => T) =>
  parsed(`${value}|none`, description, (given, option) => (given === 'none' ? null : parse(given, option)));

function parseDefault(value: string, option: string): string {
  if (value.length > MAX_DEFAULT_LENGTH)
    throw new UsageError(`${option} must not exceed ${MAX_DEFAULT_LENGTH} characters`);
  return filled(option, value);
}

function parseWorkerHost(given: string, option: string): string {
  const host = parseDefault(given, option);
  const problem = workerHostFault(host);
  if (problem !== null) throw new UsageError(`${option} ${problem}`);
  return host;
}

export const create = apiCommand({
  argument: 'name',
  options: {
    'max-concurrent-runs': integer(1, MAX_LIMIT, LIMIT),
    owner: text('uid', 'User who becomes the owner. Default: you.'),
  },
  run: async (api, { owner, ...values }, name) => {
    const body = { name, max_concurrent_runs: values['max-concurrent-runs'], owner_uid: owner };
    const team = await api.post<RemoteTeam>('/teams', body);
    printResult(values, team, team.uid);
  },
});

export const list = apiCommand({
  options: { all: flag('All teams of the installation, for its administrators.') },
  run: async (api, { all, ...values }) => {
    const teams = await allOf<RemoteTeam>(api, '/teams', 'teams', all ? { all: 'true' } : {});
    printTable(values, teams, TEAM_COLUMNS, rowOf);
  },
});

/** Only the given values; `none` removes a value. */
export const update = apiCommand({
  argument: 'uid',
  options: {
    name: filledText('text', 'Name.'),
    'max-concurrent-runs': noneOr('number', LIMIT, (given, option) => parseInteger(option, given, 1, MAX_LIMIT)),
    'default-model': noneOr('id', 'Model of runs that name no model.', parseDefault),
    'default-worker-host': noneOr('host', 'Worker host of runs that name no worker host.', parseWorkerHost),
    'metadata-filter': choice(['on', 'off'], 'Whether runs can be filtered by metadata.'),
    schedules: choice(['on', 'off'], 'Whether the team can use schedules.'),
  },
  check: ({ json: _json, url: _url, 'token-file': _file, ...values }) => {
    if (Object.values(values).every((value) => value === undefined)) throw new UsageError('nothing to update');
  },
  run: async (api, { name, schedules, 'metadata-filter': metadataFilter, ...values }, uid) => {
    const features = {
      ...(metadataFilter !== undefined && { metadata_filter: metadataFilter === 'on' }),
      ...(schedules !== undefined && { schedules: schedules === 'on' }),
    };
    const team = await api.request<RemoteTeam>('PUT', pathTo('teams', uid), {
      name,
      max_concurrent_runs: values['max-concurrent-runs'],
      default_model_id: values['default-model'],
      default_worker_host: values['default-worker-host'],
      ...(Object.keys(features).length > 0 && { features }),
    });
    printResult(values, team, renderTable(TEAM_COLUMNS, [rowOf(team)]));
  },
});

const TEAM_COLUMNS = ['UID', 'NAME', 'RUNS AT ONCE', 'MODEL', 'WORKER HOST', 'METADATA FILTER', 'SCHEDULES', 'CREATED'];

const onOff = (isOn: boolean | undefined): string => (isOn === false ? 'off' : 'on');

const rowOf = ({ features, ...team }: RemoteTeam) => [
  ...[team.uid, team.name, team.max_concurrent_runs, team.default_model_id, team.default_worker_host],
  ...[onOff(features.metadata_filter), onOff(features.schedules), timeCell(team.created_at)],
];
