import type { SetupCommandFinished, Assignment, RunnerHandover } from '#execution/runner-protocol';
import { exitCodeOf, ManagedProcess, readOutput, TailBuffer } from '../process/managed-process.js';
import { findCommand } from '../process/child-environment.js';
import { settlesWithin, sleep } from '../sleep.js';
import type { RunAs, Workspace } from '../workspace/workspace.js';
import { failed, type ExecutionEnd } from '../termination.js';
import type { Redactor } from '../redaction/redactor.js';
import { cloneRepositories, type SetupFailure } from './clone-repositories.js';

export interface SetupOptions {
  /** Number of the first command: clones come before it. */
  readonly firstIndex: number;
  readonly commands: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly runAs?: RunAs;
  readonly timeoutSeconds: number;
  readonly onProcess: (process: ManagedProcess) => void;
  readonly onFinished: (result: SetupCommandFinished) => void;
  /** No further command is started after this. */
  readonly signal: AbortSignal;
}

const OUTPUT_BYTES = 16_384;
const DRAIN_MS = 200;

/** Runs the commands in order until one fails. Returns null after success, or when stopped. */
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
  const drained = readOutput([child.stdout, child.stderr], (chunk) => output.append(chunk));
  const over = new AbortController();
  const timedOut = await Promise.race([
    child.exited.then(() => false),
    sleep(timeoutSeconds * 1000, over.signal).then(() => true),
  ]);
  over.abort();
  if (timedOut) child.signal('SIGKILL');
  const exit = await child.exited;
  // A background service keeps the pipe open; its later output is ignored.
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

export function setupFailureMessage({ result, timedOut }: SetupFailure, timeoutSeconds: number): string {
  const how = timedOut ? `was ended after ${timeoutSeconds} s` : `failed with exit code ${result.exit_code}`;
  const tail = result.output.trimEnd().slice(-MESSAGE_TAIL);
  const command = result.command.length > 200 ? `${result.command.slice(0, 199)}…` : result.command;
  return `Set-up command ${result.index + 1} (\`${command}\`) ${how}.${tail === '' ? '' : `\n${tail}`}`;
}

export interface PrepareOptions {
  readonly handover: RunnerHandover;
  readonly assignment: Assignment;
  readonly workspace: Workspace;
  /** Environment of the set-up commands; git gets none of it. */
  readonly env: Readonly<Record<string, string>>;
  readonly onProcess: (process: ManagedProcess) => void;
  readonly report: (kind: 'setup_started' | 'setup_command_finished', data: object) => void;
  readonly redactor: Redactor;
  /** No further step is started after this. */
  readonly signal: AbortSignal;
}

/** Commands and agent start in a single repository; several are next to each other in the start directory. */
export function startDirectory({ repositories = [] }: Assignment): string | undefined {
  return repositories.length === 1 ? repositories[0]?.directory : undefined;
}

/** Clones the repositories, then runs the set-up commands. Null when the agent can start, or was stopped. */
export async function prepareWorkspace(options: PrepareOptions): Promise<ExecutionEnd | null> {
  const { handover, assignment, workspace, report, signal } = options;
  const { environment } = assignment;
  // In place, the run works on the existing files.
  const repositories = handover.in_place ? [] : (assignment.repositories ?? []);
  const commands = environment?.setup_commands ?? [];
  const steps = repositories.length + commands.length;
  if (steps === 0) return null;
  report('setup_started', { commands: steps });
  const onFinished = (result: SetupCommandFinished): void => report('setup_command_finished', result);
  const timeoutSeconds = handover.limits.setup_command_timeout_seconds;
  const failure =
    (await cloneRepositories({ repositories, handover, workspace, onFinished, signal })) ??
    (await runSetup({
      firstIndex: repositories.length,
      commands,
      cwd: workspace.work,
      env: options.env,
      ...(workspace.runAs ? { runAs: workspace.runAs } : {}),
      timeoutSeconds,
      onProcess: options.onProcess,
      onFinished,
      signal,
    }));
  return failure && setupFailed(failure, timeoutSeconds, options.redactor);
}

/** Redacted before the message is cut to length: a truncated secret value would not be recognised. */
function setupFailed({ result, timedOut }: SetupFailure, timeoutSeconds: number, redactor: Redactor): ExecutionEnd {
  const { command, output } = result;
  const clean = { ...result, command: redactor.text(command), output: redactor.text(output) };
  const message = setupFailureMessage({ result: clean, timedOut }, timeoutSeconds);
  return failed('environment_setup_failed', message, result.exit_code);
}
