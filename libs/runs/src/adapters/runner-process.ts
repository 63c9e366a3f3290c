import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Logger } from '@nestjs/common';
import type { RunnerHandover } from '#libs/runner-protocol';

const logger = new Logger('Runner');

/** The compiled command line, found from wherever this file runs (build or sources). */
export function findRunnerEntry(): string {
  for (let directory = dirname(fileURLToPath(import.meta.url)); ; directory = dirname(directory)) {
    const entry = join(directory, 'dist/apps/headrace/src/main.js');
    if (existsSync(entry)) return entry;
    if (directory === dirname(directory))
      throw new Error('The built command line dist/apps/headrace/src/main.js was not found: run `npm run build`.');
  }
}

export interface RunnerExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/**
 * A runner in a session of its own, so that a signal to our process group does not reach it. It gets its assignment and
 * token on standard input; its environment and argv hold nothing secret.
 */
export class RunnerProcess {
  readonly exited: Promise<RunnerExit>;
  private readonly child: ChildProcess;

  constructor(entry: string, handover: RunnerHandover) {
    this.child = spawn(process.execPath, [entry, 'agent', 'run'], {
      detached: true,
      cwd: '/',
      stdio: ['pipe', 'ignore', 'pipe'],
      env: {
        PATH: process.env.PATH ?? '/usr/local/bin:/usr/bin:/bin',
        LANG: process.env.LANG ?? 'C.UTF-8',
        NODE_ENV: 'production',
      },
    });
    this.exited = new Promise((resolve) => {
      this.child.once('exit', (code, signal) => resolve({ code, signal }));
      this.child.once('error', (error) => {
        logger.error(`A runner could not be started: ${error.message}`);
        resolve({ code: 127, signal: null });
      });
    });
    // A runner that dies before it has read its assignment breaks the pipe; its exit tells the story.
    this.child.stdin?.on('error', (error) => logger.debug(`A runner closed its input: ${error.message}`));
    this.child.stdin?.end(`${JSON.stringify(handover)}\n`);
    if (this.child.stderr)
      createInterface({ input: this.child.stderr }).on('line', (line) =>
        forwardRunnerLine(line, handover.execution_id),
      );
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }
}

/** Runners log JSON lines; anything else is a crash and worth a warning. */
export function forwardRunnerLine(line: string, executionId: string): void {
  try {
    const { level, msg, ...fields } = JSON.parse(line) as { level?: string; msg?: string };
    const entry = { ...fields, msg: msg ?? 'runner', execution_id: executionId };
    if (level === 'error') logger.error(entry);
    else if (level === 'warn') logger.warn(entry);
    else logger.debug(entry);
  } catch {
    logger.warn({ msg: 'runner output', execution_id: executionId, line: line.slice(0, 2000) });
  }
}
