import { join } from 'node:path';
import type { Environment, Settings } from '#platform/config';
import type { Clock } from '#platform/kernel';
import { holderIsAlive, readHolder } from '#platform/embedded-postgres';
import { ConnectionFile } from '../up/connection-file.js';
import { ApiDoor } from './api-door.js';
import { DatabaseDoor } from './database-door.js';

export interface DoctorOptions {
  /** This machine only runs workers: nothing of the server is looked at. */
  readonly isWorker: boolean;
  /** Origin of the API, when it was named. */
  readonly origin: string | null;
  /** Of a worker. */
  readonly token: string | null;
  /** Of a worker: where it carries runs out. */
  readonly backend: string;
  /** Harnesses that have to be installed. */
  readonly harnesses: readonly string[];
}

/** What is examined: the settings of an installation, and the doors that several checks go through. */
export class Patient {
  readonly database: DatabaseDoor;
  readonly api: ApiDoor;

  constructor(
    readonly environment: Environment,
    /** Those that are wrong have their defaults. */
    readonly settings: Settings,
    /** One line a fault. */
    readonly settingFaults: readonly string[],
    readonly options: DoctorOptions,
    readonly clock: Clock,
  ) {
    this.database = new DatabaseDoor(settings);
    this.api = new ApiDoor(options.origin ?? originHere(settings), clock);
  }

  /** Environment variables that are wrong. */
  isWrong(setting: string): boolean {
    return this.settingFaults.some((fault) => settingsNamedIn(fault).includes(setting));
  }

  async close(): Promise<void> {
    await this.database.close();
  }
}

/** Of the API of this installation; one on a free port is found by what a running `headrace up` has written down. */
function originHere({ host, port, dataDir, runnerApiUrl }: Settings): string {
  const written = port === 0 && isUp(dataDir) ? new ConnectionFile(dataDir).read().base_url : undefined;
  if (written !== undefined) return written.replace(/\/api\/v1$/, '');
  const url = new URL(runnerApiUrl);
  // A name that only containers resolve.
  if (url.hostname !== 'host.docker.internal') return runnerApiUrl;
  url.hostname = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;
  return url.origin;
}

/** Whether `headrace up` runs on a data directory. */
export function isUp(dataDir: string): boolean {
  const holder = readHolder(join(dataDir, 'state', 'up.lock'));
  return holder !== null && holderIsAlive(holder);
}

/** The variables that a fault begins with: `PORT and INGRESS_PORT must differ`. */
export function settingsNamedIn(fault: string): string[] {
  const [names = ''] = /^[A-Z][A-Z0-9_]*( and [A-Z][A-Z0-9_]*)?/.exec(fault) ?? [];
  return names === '' ? [] : names.split(' and ');
}
