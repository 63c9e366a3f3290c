import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { findRenamedSettings } from '#platform/config';
import { parseUrl, SystemClock } from '#platform/kernel';
import { HarnessesFileError, jsonLinesLog, readHarnessesFile, RUNNER_EXIT, type RunnerLog } from '#execution/runner';
import type { InPlace } from '#execution/runner-protocol';
import { EXECUTION_ENV } from '#execution/worker-protocol';
import { type ArgumentVector, endsWithItsTurn, readArgumentVector } from './argument-vector.js';
import { executeHandover } from './execute-handover.js';
import {
  DAEMON_KEYS,
  exitSoon,
  inheritedEnvironment,
  keepLogClean,
  removeFromEnvironment,
  stderrLine,
  stopSignals,
} from './runner-process.js';

class InvalidInvocation extends Error {}

/** Logs JSON lines to standard error. 0: the control plane has acknowledged the end, with any result; else a RUNNER_EXIT. */
export async function runTask(args: readonly string[]): Promise<number> {
  const clock = new SystemClock();
  const startLog = jsonLinesLog(stderrLine, clock);
  keepLogClean((message) => startLog.warn(message));
  const { executionId, executionToken } = EXECUTION_ENV;
  const given = removeFromEnvironment([executionId, executionToken, ...DAEMON_KEYS]);
  const vector = readArgumentVector(args);
  const log = jsonLinesLog(stderrLine, clock, {
    task_id: vector.taskId,
    execution_id: given[executionId],
    pid: process.pid,
  });
  if (vector.ignored.length > 0) log.info('arguments are ignored', { ignored: vector.ignored.join(' ') });
  try {
    const [renamed] = findRenamedSettings(process.env);
    if (renamed !== undefined) throw new InvalidInvocation(renamed);
    const inPlace = inPlaceOf(vector.workspace);
    const handover = {
      base_url: baseUrl(vector),
      execution_id: required(given[executionId], executionId),
      token: required(given[executionToken], executionToken),
      place_env: inheritedEnvironment(process.env),
      harnesses: readHarnessesFile(process.env.HARNESSES_FILE ?? ''),
      ...(inPlace ? { in_place: inPlace } : {}),
    };
    // Files in a directory of the user keep the usual modes of that user.
    if (!inPlace) process.umask(0o077);
    return exitSoon(
      await executeHandover(handover, {
        log,
        ...stopSignals(),
        endsWhenIdle: endsWithItsTurn(vector.idleOnComplete),
        onClaimed: ({ run_id: runId }) => warnOfOtherRun(runId, vector.taskId, log),
      }),
    );
  } catch (error) {
    if (!(error instanceof InvalidInvocation) && !(error instanceof HarnessesFileError)) throw error;
    log.error(error.message);
    return RUNNER_EXIT.badHandover;
  }
}

function baseUrl({ serverRootUrl }: ArgumentVector): string {
  const text = serverRootUrl === '' ? (process.env.WARP_SERVER_ROOT_URL ?? '') : serverRootUrl;
  const url = parseUrl(text);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new InvalidInvocation('--server-root-url must be the http or https address of the server.');
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}/api/v1`;
}

function inPlaceOf(directory: string | undefined): InPlace | null {
  if (directory === undefined) return null;
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new InvalidInvocation('--workspace must be an existing directory.');
  return { work_dir: resolve(directory) };
}

function required(value: string, name: string): string {
  if (value !== '') return value;
  throw new InvalidInvocation(
    `The variable ${name} is not set; the server sends it in env_vars of the task_assignment.`,
  );
}

function warnOfOtherRun(runId: string, taskId: string, log: RunnerLog): void {
  if (runId !== taskId) log.warn('the execution belongs to another run than --task-id', { run_id: runId });
}
