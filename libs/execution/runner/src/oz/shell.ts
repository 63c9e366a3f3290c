import { spawn, type ChildProcess } from 'node:child_process';
import { exitCodeOf, type ProcessExit, readOutput } from '../process/managed-process.js';
import { findCommand } from '../process/child-environment.js';
import { killTree } from '../process/sweep.js';
import { shrinkText } from '../protocol/shrink.js';
import { settlesWithin } from '../retry.js';

export interface ShellResult {
  readonly exitCode: number;
  readonly output: string;
  readonly durationMs: number;
  readonly wasCancelled: boolean;
}

const SHOWN_BYTES = 32_768;
const KEPT_LENGTH = 8 * SHOWN_BYTES;
const UPDATE_MS = 100;
const DRAIN_MS = 200;
const KILL_AFTER_MS = 1_000;

/** Process groups that run now; all of them end with the agent. */
const running = new Set<number>();

export function killRunningCommands(): void {
  for (const group of running) killTree(group);
}

/**
 * Runs a script as one command in a separate process group. `onOutput` gets the whole output so far, at most ten times
 * a second. When the signal aborts, it resolves at once and the group gets SIGTERM, then SIGKILL.
 */
export async function runShell(
  script: string,
  cwd: string,
  onOutput: (output: string) => void,
  signal: AbortSignal,
): Promise<ShellResult> {
  const startedAt = performance.now();
  const shell = findCommand('bash', process.env['PATH'] ?? '') ?? '/bin/sh';
  const child = spawn(shell, ['-c', `exec 2>&1\n${script}`], {
    cwd,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = new ShownOutput(onOutput);
  const exited = watch(child);
  const drained = readOutput([child.stdout, child.stderr], (chunk) => output.append(chunk));
  const cancelled = new Promise<null>((resolve) => {
    const stop = (): void => {
      endGroup(child.pid, exited);
      resolve(null);
    };
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
  const exit = await Promise.race([exited, cancelled]);
  if (exit !== null) await settlesWithin(drained, DRAIN_MS, signal);
  output.stop();
  return {
    exitCode: exit === null ? 143 : exitCodeOf(exit),
    output: output.text,
    durationMs: Math.round(performance.now() - startedAt),
    wasCancelled: exit === null,
  };
}

function watch(child: ChildProcess): Promise<ProcessExit> {
  const { pid } = child;
  if (pid !== undefined) running.add(pid);
  return new Promise((resolve) => {
    const end = (exit: ProcessExit): void => {
      // Background processes of the command end with the agent.
      if (pid !== undefined && !killTree(pid, 0)) running.delete(pid);
      resolve(exit);
    };
    child.once('exit', (code, signal) => end({ code, signal }));
    child.once('error', () => end({ code: 127, signal: null }));
  });
}

function endGroup(group: number | undefined, exited: Promise<unknown>): void {
  if (group === undefined) return;
  killTree(group, 'SIGTERM');
  void settlesWithin(exited, KILL_AFTER_MS).then(() => killTree(group));
}

/** The shown output of a command: all of it while it is short, then its beginning and its end. */
class ShownOutput {
  private readonly decoder = new TextDecoder();
  private full = '';
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly onOutput: (output: string) => void) {}

  append(chunk: Buffer): void {
    this.full += this.decoder.decode(chunk, { stream: true });
    if (this.full.length > KEPT_LENGTH) this.full = shrinkText(this.full, 2 * SHOWN_BYTES);
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.onOutput(this.text);
    }, UPDATE_MS);
  }

  get text(): string {
    return shrinkText(this.full, SHOWN_BYTES);
  }

  stop(): void {
    clearTimeout(this.timer);
  }
}
