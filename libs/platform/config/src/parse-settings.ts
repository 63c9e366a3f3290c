import { editDistance } from '#platform/kernel';
import type { SettingDefinition } from './setting-kinds.js';
import { type Settings, SETTINGS } from './settings.js';

/** Of the variables of a plugin: `HEADRACE_PLUGIN_<NAME>_…`. */
export const PLUGIN_PREFIX = 'HEADRACE_PLUGIN_';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Old name → current name. A variable with an old name stops the start, because nothing reads it any more. */
export const RENAMED_SETTINGS: Readonly<Record<string, string>> = {
  CANCEL_STEP: 'CANCEL_ESCALATION_DELAY',
  GITHUB_SKILLS: 'GITHUB_SKILLS_SOURCE',
  HARNESSES: 'HARNESSES_FILE',
  INGRESS_MAX_BODIES: 'INGRESS_MAX_CONCURRENT_BODIES',
  INGRESS_REFUSAL_RATE: 'INGRESS_REJECTION_RATE_LIMIT',
  LIST_TIMEOUT: 'RUN_LIST_TIMEOUT',
  LIVE_RECHECK: 'LIVE_AUTH_RECHECK_INTERVAL',
  LIVE_STALL: 'LIVE_WRITE_TIMEOUT',
  SCHEDULE_CATCH_UP: 'SCHEDULE_CATCH_UP_WINDOW',
  SCHEDULE_PAUSE_AFTER: 'SCHEDULE_PAUSE_AFTER_FAILURES',
  SKILLS_CACHE: 'SKILLS_CACHE_TTL',
  WEBHOOK_AUTH_FAILURES: 'WEBHOOK_AUTH_FAILURE_LIMIT',
  WEBHOOK_IDENTITY_RETENTION: 'WEBHOOK_DEDUP_WINDOW',
  WEBHOOK_LOG_KEEP: 'WEBHOOK_LOG_MIN_ENTRIES',
  WORKER_SILENCE: 'WORKER_HEARTBEAT_TIMEOUT',
};

/** Lists every invalid setting, one line each. */
export class SettingsError extends Error {
  constructor(readonly problems: readonly string[]) {
    super(
      `Headrace cannot start: ${problems.length} invalid setting(s).\n${problems.map((line) => `  - ${line}`).join('\n')}`,
    );
    this.name = 'SettingsError';
  }
}

const valueOf = (environment: Environment, name: string): string => environment[name]?.trim() ?? '';

/** `X was renamed to Y.` for each variable of the environment that has the old name of a setting. */
export const findRenamedSettings = (environment: Environment): string[] =>
  Object.entries(RENAMED_SETTINGS)
    .filter(([name]) => valueOf(environment, name) !== '')
    .map(([name, current]) => `${name} was renamed to ${current}.`);

/** Reads every setting from an environment into one frozen object. Throws a {@link SettingsError} that lists all problems. */
export function parseSettings(environment: Environment): Settings {
  const problems = findRenamedSettings(environment);
  const values: Record<string, unknown> = {};
  const given = (name: string): string => valueOf(environment, name);
  for (const [field, { env, kind }] of Object.entries<SettingDefinition<unknown>>(SETTINGS)) {
    try {
      values[field] = kind.parse(given(env) || kind.defaultText);
    } catch (error) {
      problems.push(`${env} ${error instanceof Error ? error.message : String(error)}.`);
    }
  }
  for (const [first, second] of [
    ['TLS_CERT_FILE', 'TLS_KEY_FILE'],
    ['S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY'],
    ['OIDC_ISSUER', 'OIDC_CLIENT_ID'],
  ] as const)
    if ((given(first) === '') !== (given(second) === '')) problems.push(`${first} and ${second} must be set together.`);
  if (typeof values.port === 'number' && values.port !== 0 && values.port === values.ingressPort)
    problems.push('PORT and INGRESS_PORT must differ: the ingress has its own listener.');
  if (problems.length > 0) throw new SettingsError(problems);
  const scheme = values.tlsCertFile === '' ? 'http' : 'https';
  const host = values.host === '0.0.0.0' || values.host === '::' ? '127.0.0.1' : String(values.host);
  const origin = (port: unknown): string => `${scheme}://${host.includes(':') ? `[${host}]` : host}:${String(port)}`;
  values.publicUrl ??= origin(values.port);
  values.gitAuthorEmail ??= `noreply@${new URL(String(values.publicUrl)).hostname}`;
  values.ingressPublicUrl ??= origin(values.ingressPort);
  values.runnerApiUrl ??= scheme === 'https' ? localRunnerApi(values.runnerApiPort) : origin(values.port);
  values.pluginVariables = pluginVariablesOf(environment);
  values.maxConcurrentRunsPerTeam ??= Math.ceil(Number(values.maxConcurrentRuns) / 2);
  return Object.freeze(values) as unknown as Settings;
}

/** The variables of plugins, which processes get with the settings: their environment contains nothing else. */
export const pluginVariablesOf = (environment: Environment): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) =>
      name.startsWith(PLUGIN_PREFIX) && value !== undefined ? [[name, value]] : [],
    ),
  );

const localRunnerApi = (port: unknown): string => `http://127.0.0.1:${String(port)}`;

/** With TLS, the certificate need not be valid for 127.0.0.1, and the runners of this machine need not trust it. */
export const hasLocalRunnerApi = ({ tlsCertFile, runnerApiUrl, runnerApiPort }: Settings): boolean =>
  tlsCertFile !== '' && runnerApiUrl === localRunnerApi(runnerApiPort);

/** A copy of the settings with changes, for ports that are chosen at start and for tests. */
export function withSettings(settings: Settings, changes: Partial<Settings>): Settings {
  return Object.freeze({ ...settings, ...changes });
}

/** A name with more edits is another name: an environment holds many variables of other programs. */
const MAX_EDITS = 2;
/** Shorter names are too similar to each other, such as `HOST` and `HOME`. */
const MIN_LENGTH = 8;

export interface MisspelledSetting {
  /** Name of the variable, which nothing reads. */
  readonly given: string;
  readonly meant: string;
}

/** The first letter is rarely wrong: `SSL_CERT_FILE` is not `TLS_CERT_FILE`. */
function resembles(given: string, name: string): boolean {
  const edits = given[0] === name[0] ? MAX_EDITS : 1;
  // Each edit changes the length by one at most; this comparison is cheap, and each start makes thousands of them.
  return Math.abs(given.length - name.length) <= edits && editDistance(given, name) <= edits;
}

/** Variables whose name resembles a setting, such as `MAX_CONCURENT_RUNS`. */
export function findMisspelledSettings(environment: Environment): MisspelledSetting[] {
  const known = Object.values(SETTINGS).map(({ env }) => env);
  return Object.keys(environment)
    .filter((name) => name.length >= MIN_LENGTH && name.includes('_'))
    .filter((name) => !known.includes(name) && !(name in RENAMED_SETTINGS) && !name.startsWith(PLUGIN_PREFIX))
    .flatMap((given) => {
      const meant = known.find((name) => resembles(given.toUpperCase(), name));
      return meant === undefined ? [] : [{ given, meant }];
    });
}
