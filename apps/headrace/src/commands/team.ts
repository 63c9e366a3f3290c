import { workerHostFault } from '#execution/worker-protocol';
import { ServiceAccountsService, type Team, TeamsService } from '#platform/auth';
import { choice, filled, filledText, integer, parsed, parseInteger, requiredText, UsageError } from '../cli/command.js';
import { type OutputValues, printResult, printRows } from '../cli/output.js';
import { databaseCommand, unknownTeam } from '../process/services.js';

const MAX_LIMIT = 999_999;
/** As in the configuration of a run. */
const MAX_DEFAULT_LENGTH = 256;
const LIMIT = 'Maximum number of hosted runs that execute concurrently.';

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

export const create = databaseCommand({
  argument: 'name',
  options: { 'max-concurrent-runs': integer(1, MAX_LIMIT, LIMIT) },
  run: async (services, values, name) => {
    const limit = values['max-concurrent-runs'];
    const changes = { name, ...(limit !== undefined && { maxConcurrentRuns: limit }) };
    const { uid } = await services.get(TeamsService).create(changes);
    printResult(values, { uid }, uid);
  },
});

export const list = databaseCommand({
  run: async (services, values) => printTeams(values, await services.get(TeamsService).list()),
});

/** Only the given values; `none` removes a value. */
export const update = databaseCommand({
  argument: 'uid',
  options: {
    name: filledText('text', 'Name.'),
    'max-concurrent-runs': noneOr('number', LIMIT, (given, option) => parseInteger(option, given, 1, MAX_LIMIT)),
    'default-model': noneOr('id', 'Model of runs that name no model.', parseDefault),
    'default-worker-host': noneOr('host', 'Worker host of runs that name no worker host.', parseWorkerHost),
    'metadata-filter': choice(['on', 'off'], 'Whether runs can be filtered by metadata.'),
    schedules: choice(['on', 'off'], 'Whether the team can use schedules.'),
  },
  check: ({ json: _json, ...values }) => {
    if (Object.values(values).every((value) => value === undefined)) throw new UsageError('nothing to update');
  },
  run: async (services, { name, schedules, ...values }, uid) => {
    const { 'max-concurrent-runs': limit, 'default-model': model, 'default-worker-host': host } = values;
    const { 'metadata-filter': metadataFilter } = values;
    const result = await services.get(TeamsService).update(uid, {
      ...(name !== undefined && { name }),
      ...(limit !== undefined && { maxConcurrentRuns: limit }),
      ...(model !== undefined && { defaultModelId: model }),
      ...(host !== undefined && { defaultWorkerHost: host }),
      features: {
        ...(metadataFilter !== undefined && { metadata_filter: metadataFilter === 'on' }),
        ...(schedules !== undefined && { schedules: schedules === 'on' }),
      },
    });
    if (result.kind === 'unknown_team') throw unknownTeam(uid);
    printTeams(values, [result.team]);
  },
});

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
export const createServiceAccount = databaseCommand({
  argument: 'name',
  options: { team: requiredText('uid', 'Team of the service account.') },
  run: async (services, { team: teamUid, ...values }, name) => {
    const result = await services.get(ServiceAccountsService).create({ teamUid, name });
    if (result.kind === 'unknown_team') throw unknownTeam(teamUid);
    const { uid } = result.serviceAccount;
    printResult(values, { uid }, uid);
  },
});
