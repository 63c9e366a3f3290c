import { exitCodeOf, ManagedProcess, readOutput } from '../process/managed-process.js';
import { findCommand } from '../process/child-environment.js';
import { killTree } from '../process/sweep.js';
import { shrinkText } from '../protocol/shrink.js';
import { onAbort, settlesWithin } from '../retry.js';

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
  const args = ['-c', `exec 2>&1\n${script}`];
  const options = { command: shell, args, cwd, env: process.env, stdin: 'ignore' } as const;
  const child = await ManagedProcess.start(options).catch(() => null);
  if (child === null) return { exitCode: 127, output: '', durationMs: 0, wasCancelled: false };
  const { pid } = child;
  running.add(pid);
  const exited = child.exited.finally(() => {
    // Background processes of the command end with the agent.
    if (!killTree(pid, 0)) running.delete(pid);
  });
  const output = new ShownOutput(onOutput);
  const drained = readOutput([child.stdout, child.stderr], (chunk) => output.append(chunk));
  const cancelled = new Promise<null>((resolve) =>
    onAbort(signal, () => {
      child.signal('SIGTERM');
      void child.exitsWithin(KILL_AFTER_MS).then(() => child.signal('SIGKILL'));
      resolve(null);
    }),
  );
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
