import type { SetupCommandFinished, Assignment } from '#execution/runner-protocol';
import { exitCodeOf, ManagedProcess, readOutput, TailBuffer } from '../process/managed-process.js';
import { findCommand } from '../process/child-environment.js';
import { settlesWithin } from '../retry.js';
import { failed, type ExecutionEnd } from '../termination.js';
import { cloneRepositories, type PrepareOptions, type SetupFailure } from './clone-repositories.js';

const OUTPUT_BYTES = 16_384;
const DRAIN_MS = 200;

/** Runs the commands in order until one fails. Returns null after success, or when stopped. */
async function runCommands(
  commands: readonly string[],
  firstIndex: number,
  options: PrepareOptions,
): Promise<SetupFailure | null> {
  for (const [index, command] of commands.entries()) {
    if (options.signal.aborted) return null;
    const { result, timedOut } = await runCommand(firstIndex + index, command, options);
    options.report('setup_command_finished', result);
    if (result.exit_code !== 0 && !options.signal.aborted) return { result, timedOut };
  }
  return null;
}

async function runCommand(
  index: number,
  command: string,
  { workspace, env, handover, onProcess }: PrepareOptions,
): Promise<SetupFailure> {
  const startedAt = performance.now();
  const shell = findCommand('bash', env['PATH'] ?? '') ?? '/bin/sh';
  // One pipe for both streams: two would lose their order.
  const args = ['-c', `exec 2>&1; ${command}`];
  const { work: cwd, runAs } = workspace;
  const child = await ManagedProcess.start({ command: shell, args, cwd, env, stdin: 'ignore', runAs });
  onProcess(child);
  const output = new TailBuffer(OUTPUT_BYTES);
  const drained = readOutput([child.stdout, child.stderr], (chunk) => output.append(chunk));
  const timedOut = !(await child.exitsWithin(handover.limits.setup_command_timeout_seconds * 1000));
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
    output_truncated: output.truncated || undefined,
  };
  return { result, timedOut };
}

const MESSAGE_TAIL = 1_000;

function setupFailureMessage({ result, timedOut }: SetupFailure, timeoutSeconds: number): string {
  const how = timedOut ? `was ended after ${timeoutSeconds} s` : `failed with exit code ${result.exit_code}`;
  const tail = result.output.trimEnd().slice(-MESSAGE_TAIL);
  const command = result.command.length > 200 ? `${result.command.slice(0, 199)}…` : result.command;
  return `Set-up command ${result.index + 1} (\`${command}\`) ${how}.${tail === '' ? '' : `\n${tail}`}`;
}

/** Commands and agent start in a single repository; several are next to each other in the start directory. */
export function startDirectory({ repositories = [] }: Assignment): string | undefined {
  return repositories.length === 1 ? repositories[0]?.directory : undefined;
}

/** Clones the repositories, then runs the set-up commands. Null when the agent can start, or was stopped. */
export async function prepareWorkspace(options: PrepareOptions): Promise<ExecutionEnd | null> {
  const { handover, assignment, report, redactor, isRestored } = options;
  // In place and after a restore, the run works on the existing files.
  const repositories = handover.in_place || isRestored ? [] : (assignment.repositories ?? []);
  const isSetUp = isRestored && assignment.snapshots?.repeats_setup !== true;
  const commands = isSetUp ? [] : (assignment.environment?.setup_commands ?? []);
  const steps = repositories.length + commands.length;
  if (steps === 0) return null;
  report('setup_started', { commands: steps });
  const failure =
    (await cloneRepositories(repositories, options)) ?? (await runCommands(commands, repositories.length, options));
  if (failure === null) return null;
  const { result, timedOut } = failure;
  // Redacted before the message is cut to length: a truncated secret value would not be recognised.
  const clean = { ...result, command: redactor.text(result.command), output: redactor.text(result.output) };
  const message = setupFailureMessage({ result: clean, timedOut }, handover.limits.setup_command_timeout_seconds);
  return failed('environment_setup_failed', message, result.exit_code);
}
