import { workerHostFault } from '#execution/worker-protocol';
import { ServiceAccountsService, type Team, type TeamChanges, TeamsService } from '#platform/auth';
import {
  choice,
  command,
  integer,
  type OptionValues,
  parseInteger,
  required,
  requiredText,
  text,
  UsageError,
} from '../cli/command.js';
import { type OutputValues, printResult, printRows } from '../cli/output.js';
import { OUTPUT_OPTIONS } from '../cli/shared-options.js';
import { unknownTeam, withUseCases } from '../process/services.js';

const MAX_LIMIT = 999_999;
/** As in the configuration of a run. */
const MAX_DEFAULT_LENGTH = 256;
const ON_OFF = ['on', 'off'] as const;

const UPDATE_OPTIONS = {
  name: text('text', 'Name.'),
  'max-concurrent-runs': text('number|none', 'Maximum number of hosted runs that execute concurrently.'),
  'default-model': text('id|none', 'Model of runs that name no model.'),
  'default-worker-host': text('host|none', 'Worker host of runs that name no worker host.'),
  'metadata-filter': choice(ON_OFF, 'Whether runs can be filtered by metadata.'),
  schedules: choice(ON_OFF, 'Whether the team can use schedules.'),
};
type TeamValues = OptionValues<typeof UPDATE_OPTIONS>;

export const create = command({
  argument: 'name',
  options: {
    'max-concurrent-runs': integer(1, MAX_LIMIT, 'Maximum number of hosted runs that execute concurrently.'),
    ...OUTPUT_OPTIONS,
  },
  run: (values, name) => {
    const limit = values['max-concurrent-runs'];
    return withUseCases(async (services) => {
      const team = await services
        .get(TeamsService)
        .create({ name, ...(limit !== undefined && { maxConcurrentRuns: limit }) });
      printResult(values, { uid: team.uid }, team.uid);
      return 0;
    });
  },
});

export const list = command({
  options: OUTPUT_OPTIONS,
  run: (values) =>
    withUseCases(async (services) => {
      printTeams(values, await services.get(TeamsService).list());
      return 0;
    }),
});

export const update = command({
  argument: 'uid',
  options: { ...UPDATE_OPTIONS, ...OUTPUT_OPTIONS },
  run: ({ json, ...values }, uid) => {
    const changes = toChanges(values);
    return withUseCases(async (services) => {
      const result = await services.get(TeamsService).update(uid, changes);
      if (result.kind === 'unknown_team') throw unknownTeam(uid);
      printTeams({ json }, [result.team]);
      return 0;
    });
  },
});

/** Only the given values; `none` removes a value. */
function toChanges(values: TeamValues): TeamChanges {
  if (Object.values(values).every((value) => value === undefined)) throw new UsageError('nothing to update');
  const { name, schedules, 'max-concurrent-runs': limit, 'metadata-filter': metadataFilter } = values;
  return {
    ...(name !== undefined && { name: required('name', name) }),
    ...(limit !== undefined && {
      maxConcurrentRuns: limit === 'none' ? null : parseInteger('--max-concurrent-runs', limit, 1, MAX_LIMIT),
    }),
    ...defaultOf('defaultModelId', 'default-model', values),
    ...defaultOf('defaultWorkerHost', 'default-worker-host', values, workerHostFault),
    features: {
      ...(metadataFilter !== undefined && { metadata_filter: metadataFilter === 'on' }),
      ...(schedules !== undefined && { schedules: schedules === 'on' }),
    },
  };
}

function defaultOf(
  key: 'defaultModelId' | 'defaultWorkerHost',
  option: 'default-model' | 'default-worker-host',
  values: TeamValues,
  problemOf: (value: string) => string | null = () => null,
): TeamChanges {
  const value = values[option];
  if (value === undefined) return {};
  if (value.length > MAX_DEFAULT_LENGTH)
    throw new UsageError(`--${option} must not exceed ${MAX_DEFAULT_LENGTH} characters`);
  if (value === 'none') return { [key]: null };
  const named = required(option, value);
  const problem = problemOf(named);
  if (problem !== null) throw new UsageError(`--${option} ${problem}`);
  return { [key]: named };
}

const TEAM_COLUMNS = ['UID', 'NAME', 'RUNS AT ONCE', 'MODEL', 'WORKER HOST', 'METADATA FILTER', 'SCHEDULES', 'CREATED'];

function printTeams(values: OutputValues, teams: readonly Team[]): void {
  const onOff = (isOn: boolean): string => (isOn ? 'on' : 'off');
  const rows = teams.map(({ features, ...team }) => [
    ...[team.uid, team.name, team.maxConcurrentRuns, team.defaultModelId, team.defaultWorkerHost],
    ...[onOff(features.metadata_filter), onOff(features.schedules), team.createdAt],
  ]);
  printRows(values, TEAM_COLUMNS, rows);
}

/** A service account has the permissions of a team member, without management permissions. */
export const createServiceAccount = command({
  argument: 'name',
  options: { team: requiredText('uid', 'Team of the service account.'), ...OUTPUT_OPTIONS },
  run: (values, name) =>
    withUseCases(async (services) => {
      const result = await services.get(ServiceAccountsService).create({ teamUid: values.team, name });
      if (result.kind === 'unknown_team') throw unknownTeam(values.team);
      printResult(values, { uid: result.serviceAccount.uid }, result.serviceAccount.uid);
      return 0;
    }),
});
