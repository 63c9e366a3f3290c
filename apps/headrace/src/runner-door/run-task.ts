import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { findRenamedSettings } from '#platform/config';
import { SystemClock } from '#platform/kernel';
import { HarnessesFileError, jsonLinesLog, readHarnessesFile, RUNNER_EXIT, type RunnerLog } from '#execution/runner';
import type { InPlace } from '#execution/runner-protocol';
import { EXECUTION_ENV } from '#execution/worker-protocol';
import { type ArgumentVector, endsWithItsTurn, readArgumentVector } from './argument-vector.js';
import { carryOut } from './carry-out.js';
import { keepLogClean, leave, stderrLine } from './json-log.js';
import { placeEnvironment } from './place-environment.js';
import { stopSignals } from './stop-signals.js';
import { takeFromEnvironment } from './take-from-environment.js';

/** A daemon that passes its environment on has its own key in it, which is neither the runner's nor the agent's business. */
const KEYS_OF_DAEMONS = ['HEADRACE_TOKEN', 'WARP_API_KEY'] as const;

/** What the arguments and the environment say does not make an execution. */
class BadInvocation extends Error {}

/**
 * For worker daemons that start `agent run --task-id …` and pass what the server sent as variables. Logs JSON lines to
 * standard error. The exit code is 0 once the control plane has acknowledged the end of the execution, whatever became of
 * it; else what RUNNER_EXIT says.
 */
export async function runTask(args: readonly string[]): Promise<number> {
  const clock = new SystemClock();
  keepLogClean(clock);
  const { executionId, executionToken } = EXECUTION_ENV;
  const given = takeFromEnvironment([executionId, executionToken, ...KEYS_OF_DAEMONS]);
  const vector = readArgumentVector(args);
  const log = jsonLinesLog(stderrLine, clock, {
    task_id: vector.taskId,
    execution_id: given[executionId],
    pid: process.pid,
  });
  if (vector.ignored.length > 0) log.info('arguments without a meaning here', { ignored: vector.ignored.join(' ') });
  try {
    const [renamed] = findRenamedSettings(process.env);
    if (renamed !== undefined) throw new BadInvocation(renamed);
    const inPlace = workPlace(vector.workspace);
    const handover = {
      base_url: baseUrl(vector),
      execution_id: required(given[executionId], executionId),
      token: required(given[executionToken], executionToken),
      place_env: placeEnvironment(process.env),
      harnesses: readHarnessesFile(process.env.HARNESSES_FILE ?? ''),
      ...(inPlace ? { in_place: inPlace } : {}),
    };
    // In a directory that is somebody's, files are to look as they always do there.
    if (!inPlace) process.umask(0o077);
    return leave(
      await carryOut(handover, {
        log,
        ...stopSignals(),
        endsWhenIdle: endsWithItsTurn(vector.idleOnComplete),
        onClaimed: ({ run_id: runId }) => warnOfOther(runId, vector.taskId, log),
      }),
    );
  } catch (error) {
    if (!(error instanceof BadInvocation) && !(error instanceof HarnessesFileError)) throw error;
    log.error(error.message);
    return RUNNER_EXIT.badHandover;
  }
}

function baseUrl({ serverRootUrl }: ArgumentVector): string {
  const text = serverRootUrl === '' ? (process.env.WARP_SERVER_ROOT_URL ?? '') : serverRootUrl;
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new BadInvocation('--server-root-url must be the http or https address of the server.');
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}/api/v1`;
}

function workPlace(directory: string | undefined): InPlace | null {
  if (directory === undefined) return null;
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new BadInvocation('--workspace must be a directory that is there.');
  return { work_dir: resolve(directory) };
}

function required(value: string, name: string): string {
  if (value !== '') return value;
  throw new BadInvocation(`The variable ${name} is not set: the server's task_assignment has it in env_vars.`);
}

function warnOfOther(runId: string, taskId: string, log: RunnerLog): void {
  if (runId !== taskId) log.warn('the execution is one of another run than --task-id says', { run_id: runId });
}
