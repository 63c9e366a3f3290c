import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SystemClock } from '#platform/kernel';
import { createTestDatabase, type TestDatabase } from '#testing';
import { examine } from '../../apps/headrace/src/doctor/doctor.js';
import type { NamedCheckResult } from '../../apps/headrace/src/doctor/check-result.js';
import type { DoctorOptions } from '../../apps/headrace/src/doctor/doctor-context.js';

export const SECRETS_KEY = 'a-key-for-tests-only-0123456789abcdef';

/** A server's machine on which everything is as it should be, until a test breaks something. */
export class Machine {
  private constructor(
    readonly database: TestDatabase,
    readonly directory: string,
  ) {}

  static async create(): Promise<Machine> {
    return new Machine(await createTestDatabase(), mkdtempSync(join(tmpdir(), 'headrace-doctor-test-')));
  }

  environment(broken: Record<string, string | undefined> = {}): Record<string, string | undefined> {
    return {
      PATH: process.env.PATH,
      HEADRACE_DATA_DIR: join(this.directory, 'data'),
      PORT: '0',
      INGRESS_PORT: '0',
      DATABASE_URL: this.database.url,
      SECRETS_KEY,
      // Nothing listens on this port, so that no other API is checked.
      RUNNER_API_URL: 'http://127.0.0.1:9',
      ...broken,
    };
  }

  examine(
    broken: Record<string, string | undefined> = {},
    options: Partial<DoctorOptions> = {},
    clock = new SystemClock(),
  ): Promise<readonly NamedCheckResult[]> {
    const full = { isWorker: false, origin: null, token: null, backend: 'process', harnesses: [], ...options };
    return examine(this.environment(broken), full, clock);
  }

  async close(): Promise<void> {
    await this.database.close();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** Names of the checks that failed, each once. */
export const failed = (results: readonly NamedCheckResult[]): string[] => [
  ...new Set(results.filter(({ verdict }) => verdict === 'fail').map(({ check }) => check)),
];

/** The results of a check and their fixes as one text. */
export const textOf = (results: readonly NamedCheckResult[], check: string): string =>
  results
    .filter((result) => result.check === check)
    .map(({ verdict, found, fix = [] }) => [verdict, found, ...fix].join(' | '))
    .join('\n');
