import type { Assignment, RunnerHandover, SetupCommandFinished } from '#execution/runner-protocol';
import { failed, type Ending } from '../interruption.js';
import type { ManagedProcess } from '../process/managed-process.js';
import type { Redactor } from '../redaction/redactor.js';
import type { Workspace } from '../workspace/workspace.js';
import { cloneRepositories } from './clone-repositories.js';
import { runSetup, setupFailureMessage, type SetupFailure } from './run-setup.js';

export interface PrepareOptions {
  readonly handover: RunnerHandover;
  readonly assignment: Assignment;
  readonly workspace: Workspace;
  /** Of the set-up commands; git gets none of it. */
  readonly env: Readonly<Record<string, string>>;
  /** The process of the command that runs now. */
  readonly onProcess: (process: ManagedProcess) => void;
  readonly tell: (kind: 'setup_started' | 'setup_command_finished', data: object) => void;
  readonly redactor: Redactor;
  /** Nothing further is begun after this. */
  readonly signal: AbortSignal;
}

/** A single repository is where commands and agent start; several lie beside each other where they start. */
export function startDirectory({ repositories = [] }: Assignment): string | undefined {
  return repositories.length === 1 ? repositories[0]?.directory : undefined;
}

/** Clones the repositories, then runs the set-up commands. Null when the agent can start, or was stopped. */
export async function prepareWorkspace(options: PrepareOptions): Promise<Ending | null> {
  const { handover, assignment, workspace, tell, signal } = options;
  const { environment } = assignment;
  // In place, what is there is what the run is about.
  const repositories = handover.in_place ? [] : (assignment.repositories ?? []);
  const commands = environment?.setup_commands ?? [];
  const steps = repositories.length + commands.length;
  if (steps === 0) return null;
  tell('setup_started', { commands: steps });
  const onFinished = (result: SetupCommandFinished): void => tell('setup_command_finished', result);
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
  return failure && failedSetup(failure, timeoutSeconds, options.redactor);
}

/** The message has pieces of command and output: of a value that was cut off nobody could tell any more what it was. */
function failedSetup({ result, timedOut }: SetupFailure, timeoutSeconds: number, redactor: Redactor): Ending {
  const { command, output } = result;
  const clean = { ...result, command: redactor.text(command), output: redactor.text(output) };
  const message = setupFailureMessage({ result: clean, timedOut }, timeoutSeconds);
  return failed('environment_setup_failed', message, result.exit_code);
}
