import { type Settings, SETTINGS, type SettingDefinition } from './settings.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Thrown with everything that is wrong, one line a setting. */
export class SettingsError extends Error {
  constructor(readonly problems: readonly string[]) {
    super(
      `Headrace cannot start: ${problems.length} setting(s) are wrong.\n${problems.map((line) => `  - ${line}`).join('\n')}`,
    );
    this.name = 'SettingsError';
  }
}

/** Reads every setting from an environment into one frozen object. Throws a {@link SettingsError} that lists all faults. */
export function parseSettings(environment: Environment): Settings {
  const problems: string[] = [];
  const values: Record<string, unknown> = {};
  const given = (name: string): string => environment[name]?.trim() ?? '';
  for (const [name, definition] of Object.entries<SettingDefinition<unknown>>(SETTINGS)) {
    try {
      values[name] = definition.kind.parse(given(definition.env) || definition.kind.defaultText);
    } catch (error) {
      problems.push(`${definition.env} ${error instanceof Error ? error.message : String(error)}.`);
    }
  }
  if ((given('TLS_CERT_FILE') === '') !== (given('TLS_KEY_FILE') === '')) {
    problems.push('TLS_CERT_FILE and TLS_KEY_FILE must be set together.');
  }
  if ((given('S3_ACCESS_KEY_ID') === '') !== (given('S3_SECRET_ACCESS_KEY') === '')) {
    problems.push('S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY must be set together.');
  }
  if (typeof values.port === 'number' && values.port !== 0 && values.port === values.ingressPort) {
    problems.push('PORT and INGRESS_PORT must differ: the ingress is a listener of its own.');
  }
  if (problems.length > 0) throw new SettingsError(problems);
  const scheme = values.tlsCertFile === '' ? 'http' : 'https';
  const host = values.host === '0.0.0.0' || values.host === '::' ? '127.0.0.1' : String(values.host);
  const origin = (port: unknown): string => `${scheme}://${host.includes(':') ? `[${host}]` : host}:${String(port)}`;
  values.publicUrl ??= origin(values.port);
  values.ingressPublicUrl ??= origin(values.ingressPort);
  values.runnerApiUrl ??= scheme === 'https' ? localRunnerApi(values.runnerApiPort) : origin(values.port);
  values.maxConcurrentRunsPerTeam ??= Math.ceil(Number(values.maxConcurrentRuns) / 2);
  return Object.freeze(values) as unknown as Settings;
}

const localRunnerApi = (port: unknown): string => `http://127.0.0.1:${String(port)}`;

/**
 * Whether the API has a listener of its own for the runners of this machine: a certificate that callers trust need not be
 * valid for 127.0.0.1, nor be one that runners trust.
 */
export const hasLocalRunnerApi = ({ tlsCertFile, runnerApiUrl, runnerApiPort }: Settings): boolean =>
  tlsCertFile !== '' && runnerApiUrl === localRunnerApi(runnerApiPort);

/** The same settings with some replaced: for ports chosen at start and for tests. */
export function withSettings(settings: Settings, changes: Partial<Settings>): Settings {
  return Object.freeze({ ...settings, ...changes });
}
