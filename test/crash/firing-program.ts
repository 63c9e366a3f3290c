import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { inject } from 'vitest';
import { FLAGS_OF_SHORT_PROCESSES } from '../support/node-flags.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** The directory of the bundled programs; provided by test/global-setup.ts. */
    programsDir: string;
  }
}

export const SECRETS_KEY = 'a-key-for-tests-only-0123456789abcdef';

/** Evaluates all due deliveries in a separate process. `more` contains KILL_AT or KILL_ON, see firing-process.mjs. */
export function startFiringProgram(
  { databaseUrl, dataDir }: { readonly databaseUrl: string; readonly dataDir: string },
  more: Readonly<Record<string, string>> = {},
): ChildProcess {
  return spawn(process.execPath, [...FLAGS_OF_SHORT_PROCESSES, join(inject('programsDir'), 'firing-process.js')], {
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: databaseUrl,
      HEADRACE_DATA_DIR: dataDir,
      HEADRACE_TEST_CLOCK: 'true',
      SECRETS_KEY,
      LOG_LEVEL: 'warn',
      DATABASE_POOL_SIZE: '6',
      ...more,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** Resolves to the exit code or the signal, and the output, when the process has ended. */
export function ended(child: ChildProcess): Promise<{ how: number | NodeJS.Signals | null; output: string }> {
  return new Promise((resolve) => {
    let output = '';
    child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.once('close', (code, signal) => {
      resolve({ how: signal ?? code, output });
    });
  });
}
