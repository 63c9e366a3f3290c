import type { SetupCommandFinished } from '#execution/runner-protocol';
import { exitCodeOf, ManagedProcess } from '../process/managed-process.js';
import { TailBuffer } from '../process/tail-buffer.js';
import { findCommand } from '../process/child-environment.js';
import { settlesWithin, sleep } from '../sleep.js';
import type { RunAs } from '../workspace/workspace.js';

export interface SetupOptions {
  /** Number of the first command: clones come before it. */
  readonly firstIndex: number;
  readonly commands: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly runAs?: RunAs;
  readonly timeoutSeconds: number;
  /** The process of the command that runs now, so that whoever stops the execution can. */
  readonly onProcess: (process: ManagedProcess) => void;
  readonly onFinished: (result: SetupCommandFinished) => void;
  /** No further command is started after this. */
  readonly signal: AbortSignal;
}

export interface SetupFailure {
  readonly result: SetupCommandFinished;
  readonly timedOut: boolean;
}

const OUTPUT_BYTES = 16_384;
const DRAIN_MS = 200;

/** Runs the commands in order; the first that fails ends it. Stopped by a signal, it returns null like a success. */
export async function runSetup(options: SetupOptions): Promise<SetupFailure | null> {
  for (const [index, command] of options.commands.entries()) {
    if (options.signal.aborted) return null;
    const { result, timedOut } = await runCommand(options.firstIndex + index, command, options);
    options.onFinished(result);
    if (result.exit_code !== 0 && !options.signal.aborted) return { result, timedOut };
  }
  return null;
}

async function runCommand(index: number, command: string, options: SetupOptions): Promise<SetupFailure> {
  const { cwd, env, runAs, timeoutSeconds } = options;
  const startedAt = performance.now();
  const shell = findCommand('bash', env['PATH'] ?? '') ?? '/bin/sh';
  // One pipe for both streams: two would lose their order.
  const args = ['-c', `exec 2>&1; ${command}`];
  const child = await ManagedProcess.start({
    command: shell,
    args,
    cwd,
    env,
    stdin: 'ignore',
    ...(runAs ? { runAs } : {}),
  });
  options.onProcess(child);
  const output = new TailBuffer(OUTPUT_BYTES);
  const drained = Promise.all(
    [child.stdout, child.stderr].map((stream) => {
      stream.on('data', (chunk: Buffer) => output.append(chunk));
      return new Promise<void>((resolve) => stream.once('close', resolve));
    }),
  );
  const over = new AbortController();
  const timedOut = await Promise.race([
    child.exited.then(() => false),
    sleep(timeoutSeconds * 1000, over.signal).then(() => true),
  ]);
  over.abort();
  if (timedOut) child.signal('SIGKILL');
  const exit = await child.exited;
  // A service that the command left in the background keeps the pipe open; its later output is nobody's.
  await settlesWithin(drained, DRAIN_MS);
  const result: SetupCommandFinished = {
    index,
    command,
    exit_code: exitCodeOf(exit),
    duration_ms: Math.round(performance.now() - startedAt),
    output: output.toString(),
    ...(output.truncated ? { output_truncated: true } : {}),
  };
  return { result, timedOut };
}

const MESSAGE_TAIL = 1_000;

/** Names the command and how it ended, with the end of its output. */
export function setupFailureMessage({ result, timedOut }: SetupFailure, timeoutSeconds: number): string {
  const how = timedOut ? `was ended after ${timeoutSeconds} s` : `failed with exit code ${result.exit_code}`;
  const tail = result.output.trimEnd().slice(-MESSAGE_TAIL);
  const command = result.command.length > 200 ? `${result.command.slice(0, 199)}…` : result.command;
  return `Set-up command ${result.index + 1} (\`${command}\`) ${how}.${tail === '' ? '' : `\n${tail}`}`;
}
