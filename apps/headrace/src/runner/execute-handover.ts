import { randomBytes } from 'node:crypto';
import { createReadStream, rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type ExecutionResult,
  HandoverError,
  jsonLinesLog,
  readHandover,
  readHandovers,
  removeTree,
  RUNNER_EXIT,
  runExecution,
  type RunExecutionOptions,
  type RunnerLog,
  sweep,
} from '#execution/runner';
import type { GitHandover, RunnerHandover, RunnerLimits } from '#execution/runner-protocol';
import { SystemClock } from '#platform/kernel';
import { Guard } from './guard.js';
import { ExecutionSignals } from './execution-signals.js';
import { BUILTIN_AGENT_ARGS, exitSoon, keepLogClean, OWN_ENTRY, stderrLine } from './runner-process.js';

const MIB = 1_048_576;
/** The defaults of the settings with the same names, for runners that no settings reach. */
const DEFAULT_LIMITS: RunnerLimits = {
  max_workspace_bytes: 10 * 1024 * MIB,
  max_output_bytes: 64 * MIB,
  setup_command_timeout_seconds: 600,
  cancel_step_seconds: 2,
};
const DEFAULT_GIT: GitHandover = { clone_timeout_seconds: 600, max_repository_bytes: 5 * 1024 * MIB };

/** The part of a hand-over that the starter of a runner without executor provides. */
type PartialHandover = Pick<RunnerHandover, 'base_url' | 'execution_id' | 'token'> &
  Partial<Pick<RunnerHandover, 'place_env' | 'in_place' | 'harnesses'>>;

/** In a temporary directory that is removed even when this process is killed. Resolves with a RUNNER_EXIT. */
export async function executeHandover(
  handover: PartialHandover,
  options: Omit<RunExecutionOptions, 'builtinAgentArgs'>,
): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), 'headrace-run-'));
  const marker = randomBytes(16).toString('hex');
  const guard = Guard.start({ marker, directory }, OWN_ENTRY);
  exitOnFault(() => ({ log: options.log, marker }));
  try {
    return await runExecution(
      {
        ...handover,
        workspace_dir: join(directory, 'workspace'),
        marker,
        limits: DEFAULT_LIMITS,
        git: DEFAULT_GIT,
      },
      { ...options, builtinAgentArgs: BUILTIN_AGENT_ARGS },
    );
  } finally {
    await removeTree(directory).catch((error: unknown) => {
      options.log.warn('a temporary directory could not be removed', { error: String(error) });
    });
    guard.dismiss();
  }
}

interface CurrentExecution {
  readonly log: RunnerLog;
  /** Undefined while there is no execution. */
  readonly marker?: string;
}

/** Kills the processes of the execution after an uncaught exception, because the state of this process is not reliable. */
export function exitOnFault(current: () => CurrentExecution): void {
  process.on('unhandledRejection', (reason) => current().log.warn('unhandled rejection', { error: String(reason) }));
  process.on('uncaughtException', (error) => {
    const { log, marker } = current();
    log.error('fault', { error: error.message });
    void (marker === undefined ? Promise.resolve() : sweep({ marker }).then(() => undefined)).finally(() =>
      process.exit(RUNNER_EXIT.fault),
    );
  });
}

/**
 * For our own backends: the hand-over (RunnerHandover) is one line of JSON on standard input, or in a file. The file is
 * removed, because the agent could read it. With `isReused` the next hand-over follows after each execution that ended as
 * expected, which a line on standard output reports (ExecutionResult); any other end is the end of the process.
 */
export async function runHandover(file: string | null = null, isReused = false): Promise<number> {
  const clock = new SystemClock();
  const startLog = jsonLinesLog(stderrLine, clock);
  keepLogClean((message) => startLog.warn(message));
  process.umask(0o077);
  const signals = new ExecutionSignals();
  let current: CurrentExecution = { log: startLog };
  let code: number = isReused ? RUNNER_EXIT.reported : RUNNER_EXIT.badHandover;
  exitOnFault(() => current);
  try {
    for await (const handover of isReused ? readHandovers(process.stdin) : readOne(file)) {
      const { execution_id, marker } = handover;
      const log = jsonLinesLog(stderrLine, clock, { execution_id, pid: process.pid });
      current = { log, marker };
      code = await runExecution(handover, { builtinAgentArgs: BUILTIN_AGENT_ARGS, log, ...signals.begin() });
      signals.end();
      current = { log: startLog };
      if (!isReused || code !== RUNNER_EXIT.reported || signals.isStopped) break;
      process.stdout.write(`${JSON.stringify({ execution_id, exit_code: code } satisfies ExecutionResult)}\n`);
    }
  } catch (error) {
    if (!(error instanceof HandoverError)) throw error;
    startLog.error(error.message);
    return RUNNER_EXIT.badHandover;
  }
  return exitSoon(code);
}

async function* readOne(file: string | null): AsyncGenerator<RunnerHandover, void> {
  yield await readAndRemove(file);
}

/** The file is removed before the execution begins. */
async function readAndRemove(file: string | null): Promise<RunnerHandover> {
  const input = file === null ? process.stdin : createReadStream(file);
  try {
    return await readHandover(input);
  } finally {
    input.destroy();
    if (file !== null) rmSync(file, { force: true });
  }
}
