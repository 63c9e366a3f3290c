import { parseArgs } from 'node:util';
import { ServiceAccountsService, type Team, type TeamChanges, TeamsService } from '#platform/auth';
import { workerHostFault } from '#execution/worker-protocol';
import { onlyPositional, required } from '../cli/arguments.js';
import { CommandError, type CommandModule, UsageError } from '../cli/command.js';
import { OUTPUT_OPTIONS, type OutputValues, printResult, printRows } from '../cli/output.js';
import { withUseCases } from '../process/with-use-cases.js';

export const create: CommandModule = {
  run: (args) => {
    const options = { ...OUTPUT_OPTIONS, 'max-concurrent-runs': { type: 'string' } } as const;
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    const name = onlyPositional('name', positionals);
    const limit = values['max-concurrent-runs'] === undefined ? undefined : parseLimit(values['max-concurrent-runs']);
    return withUseCases(async (services) => {
      const team = await services
        .get(TeamsService)
        .create({ name, ...(limit !== undefined && { maxConcurrentRuns: limit }) });
      printResult(values, { uid: team.uid }, team.uid);
      return 0;
    });
  },
};

export const list: CommandModule = {
  run: (args) => {
    const { values } = parseArgs({ args: [...args], options: OUTPUT_OPTIONS });
    return withUseCases(async (services) => {
      printTeams(values, await services.get(TeamsService).list());
      return 0;
    });
  },
};

const SETTING_OPTIONS = {
  name: { type: 'string' },
  'max-concurrent-runs': { type: 'string' },
  'default-model': { type: 'string' },
  'default-worker-host': { type: 'string' },
  'metadata-filter': { type: 'string' },
  schedules: { type: 'string' },
} as const;
type SettingValues = { readonly [K in keyof typeof SETTING_OPTIONS]?: string };

export const update: CommandModule = {
  run: (args) => {
    const options = { ...SETTING_OPTIONS, ...OUTPUT_OPTIONS };
    const { values: given, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    const { json, ...values } = given;
    const uid = onlyPositional('uid', positionals);
    const changes = toChanges(values);
    return withUseCases(async (services) => {
      const result = await services.get(TeamsService).update(uid, changes);
      if (result.kind === 'unknown_team')
        throw new CommandError(`there is no team ${uid}; \`headrace team list\` shows the UIDs.`);
      printTeams({ ...(json !== undefined && { json }) }, [result.team]);
      return 0;
    });
  },
};

/** Only what was given. `none` unsets what can be unset. */
function toChanges(values: SettingValues): TeamChanges {
  if (Object.keys(values).length === 0) throw new UsageError('there is nothing to change');
  const { name, schedules } = values;
  const limit = values['max-concurrent-runs'];
  const metadataFilter = values['metadata-filter'];
  return {
    ...(name !== undefined && { name: required('name', name) }),
    ...(limit !== undefined && { maxConcurrentRuns: limit === 'none' ? null : parseLimit(limit) }),
    ...given('defaultModelId', 'default-model', values),
    ...given('defaultWorkerHost', 'default-worker-host', values, workerHostFault),
    features: {
      ...(metadataFilter !== undefined && { metadata_filter: parseSwitch('metadata-filter', metadataFilter) }),
      ...(schedules !== undefined && { schedules: parseSwitch('schedules', schedules) }),
    },
  };
}

function given(
  key: 'defaultModelId' | 'defaultWorkerHost',
  option: 'default-model' | 'default-worker-host',
  values: SettingValues,
  faultOf: (value: string) => string | null = () => null,
): TeamChanges {
  const value = values[option];
  if (value === undefined) return {};
  if (value.length > MAX_DEFAULT_LENGTH) throw new UsageError(`--${option} is too long`);
  if (value === 'none') return { [key]: null };
  const named = required(option, value);
  const fault = faultOf(named);
  if (fault !== null) throw new UsageError(`--${option} ${fault}`);
  return { [key]: named };
}

/** As long as a run may name one. */
const MAX_DEFAULT_LENGTH = 256;

function parseLimit(value: string): number {
  if (!/^[1-9]\d{0,5}$/.test(value))
    throw new UsageError('--max-concurrent-runs must be a whole number from 1 to 999999');
  return Number(value);
}

function parseSwitch(option: string, value: string): boolean {
  if (value !== 'on' && value !== 'off') throw new UsageError(`--${option} must be on or off`);
  return value === 'on';
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

/** A service account works for one team like a member, and manages nothing. */
export const createServiceAccount: CommandModule = {
  run: (args) => {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: { ...OUTPUT_OPTIONS, team: { type: 'string' } },
      allowPositionals: true,
    });
    const name = onlyPositional('name', positionals);
    const teamUid = required('team', values.team);
    return withUseCases(async (services) => {
      const result = await services.get(ServiceAccountsService).create({ teamUid, name });
      if (result.kind === 'unknown_team')
        throw new CommandError(`there is no team ${teamUid}; \`headrace team list\` shows the UIDs.`);
      printResult(values, { uid: result.serviceAccount.uid }, result.serviceAccount.uid);
      return 0;
    });
  },
};
