import { join } from 'node:path';
import { type Environment, parseSettings, type Settings, SettingsError } from '#platform/config';
import type { Clock } from '#platform/kernel';
import { holderIsAlive, readHolder } from '#platform/embedded-postgres';
import { openPlugins } from '../process/plugins.js';
import type { LoadedPlugin } from '#platform/plugins';
import { ConnectionFile } from '../up/connection-file.js';
import { ApiProbe } from './api-probe.js';
import { DatabaseProbe } from './database-probe.js';

export interface DoctorOptions {
  /** This machine only runs workers, so the checks of the server are skipped. */
  readonly isWorker: boolean;
  readonly origin: string | null;
  readonly token: string | null;
  readonly backend: string;
  readonly harnesses: readonly string[];
}

export class DoctorContext {
  readonly database: DatabaseProbe;
  readonly api: ApiProbe;
  private loaded: Promise<readonly LoadedPlugin[]> | null = null;

  constructor(
    readonly environment: Environment,
    /** With the defaults in place of invalid settings. */
    readonly settings: Settings,
    readonly settingProblems: readonly string[],
    readonly options: DoctorOptions,
    readonly clock: Clock,
  ) {
    this.database = new DatabaseProbe(settings);
    this.api = new ApiProbe(options.origin ?? originHere(settings), clock);
  }

  /** Rejects with the reason why one cannot be loaded. */
  plugins(): Promise<readonly LoadedPlugin[]> {
    return (this.loaded ??= openPlugins(this.settings));
  }

  isInvalid(setting: string): boolean {
    return this.settingProblems.some((problem) => settingsNamedIn(problem).includes(setting));
  }

  async close(): Promise<void> {
    await this.database.close();
  }
}

/** Origin of the API of this installation; a running `headrace up` writes it down when it selected a free port. */
function originHere({ host, port, dataDir, runnerApiUrl }: Settings): string {
  const written = port === 0 && isUp(dataDir) ? new ConnectionFile(dataDir).read().base_url : undefined;
  if (written !== undefined) return written.replace(/\/api\/v1$/, '');
  const url = new URL(runnerApiUrl);
  // Only containers resolve this name.
  if (url.hostname !== 'host.docker.internal') return runnerApiUrl;
  url.hostname = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;
  return url.origin;
}

export function isUp(dataDir: string): boolean {
  const holder = readHolder(join(dataDir, 'state', 'up.lock'));
  return holder !== null && holderIsAlive(holder);
}

/** The variables with which a problem begins, such as `PORT and INGRESS_PORT must differ`. */
export function settingsNamedIn(problem: string): string[] {
  const [names = ''] = /^[A-Z][A-Z0-9_]*( and [A-Z][A-Z0-9_]*)?/.exec(problem) ?? [];
  return names === '' ? [] : names.split(' and ');
}

/** The settings, with the defaults in place of invalid ones, so that everything else can be checked. */
export function parseReadableSettings(environment: Environment): { settings: Settings; problems: readonly string[] } {
  const problems: string[] = [];
  const left: Record<string, string | undefined> = { ...environment };
  for (;;) {
    try {
      return { settings: parseSettings(left), problems };
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error;
      const wrong = error.problems.flatMap(settingsNamedIn).filter((name) => left[name] !== undefined);
      // A problem that no variable of the environment causes would repeat forever.
      if (wrong.length === 0) throw error;
      problems.push(...error.problems);
      for (const name of wrong) delete left[name];
    }
  }
}
