import { SystemClock } from '#platform/kernel';
import {
  HandoverError,
  jsonLinesLog,
  readHandover,
  RETIRE_SIGNAL,
  RUNNER_EXIT,
  runExecution,
  sweep,
} from '#execution/runner';
import { BUILTIN_AGENT_ARGS, exitSoon, keepLogClean, stderrLine, stopSignals } from './runner-process.js';

/** For our own executors and workers: the hand-over (RunnerHandover) is one line of JSON on standard input. */
export async function runHandover(): Promise<number> {
  const clock = new SystemClock();
  keepLogClean(clock);
  process.umask(0o077);
  let handover;
  try {
    handover = await readHandover(process.stdin);
  } catch (error) {
    if (!(error instanceof HandoverError)) throw error;
    jsonLinesLog(stderrLine, clock).error(error.message);
    return RUNNER_EXIT.badHandover;
  }
  const { marker } = handover;
  const log = jsonLinesLog(stderrLine, clock, { execution_id: handover.execution_id, pid: process.pid });
  process.on('unhandledRejection', (reason) => log.warn('unhandled rejection', { error: String(reason) }));
  process.on('uncaughtException', (error) => {
    log.error('fault', { error: error.message });
    void sweep({ marker }).finally(() => process.exit(RUNNER_EXIT.fault));
  });
  const retiring = new AbortController();
  process.on(RETIRE_SIGNAL, () => retiring.abort());
  const signals = { ...stopSignals(), retire: retiring.signal };
  return exitSoon(await runExecution(handover, { builtinAgentArgs: BUILTIN_AGENT_ARGS, log, ...signals }));
}
