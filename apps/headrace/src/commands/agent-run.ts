import { fileURLToPath } from 'node:url';
import { SystemClock } from '#libs/kernel';
import { HandoverError, jsonLinesLog, readHandover, RUNNER_EXIT, runExecution, sweep } from '#libs/runner';

const EXIT_GRACE_MS = 1_000;

/**
 * Carries out one execution. The hand-over (RunnerHandover, with the execution's token) is one line of JSON on standard
 * input; arguments are accepted and ignored, so that an older runner can be started by a newer control plane.
 * Logs JSON lines to standard error. Exit codes: RUNNER_EXIT.
 */
export async function run(_args: readonly string[]): Promise<number> {
  const clock = new SystemClock();
  const write = (line: string): void => void process.stderr.write(line);
  // Whoever reads our log may die before us; the execution ends by its lease then, not by a broken pipe.
  process.stderr.on('error', () => undefined);
  // Libraries that write to the console must not break the log's format, nor tell what they were given.
  for (const method of ['error', 'warn', 'log'] as const)
    console[method] = (first: unknown) => jsonLinesLog(write, clock).warn(String(first));
  process.umask(0o077);
  let handover;
  try {
    handover = await readHandover(process.stdin);
  } catch (error) {
    if (!(error instanceof HandoverError)) throw error;
    jsonLinesLog(write, clock).error(error.message);
    return RUNNER_EXIT.badHandover;
  }
  const { cookie } = handover;
  const log = jsonLinesLog(write, clock, { execution_id: handover.execution_id, pid: process.pid });
  process.on('unhandledRejection', (reason) => log.warn('unhandled rejection', { error: String(reason) }));
  process.on('uncaughtException', (error) => {
    log.error('fault', { error: error.message });
    void sweep({ cookie }).finally(() => process.exit(RUNNER_EXIT.fault));
  });
  const builtinAgentArgs = [fileURLToPath(new URL('../main.js', import.meta.url)), 'builtin-agent'];
  const code = await runExecution(handover, { builtinAgentArgs, log, ...stopSignals() });
  // Nothing of the execution is left; a socket that lingers must not keep the process.
  setTimeout(() => process.exit(code), EXIT_GRACE_MS).unref();
  return code;
}

/** The first SIGTERM (or SIGINT) drains, the second ends at once. */
function stopSignals(): { drain: AbortSignal; abort: AbortSignal } {
  const [drain, abort] = [new AbortController(), new AbortController()];
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => (drain.signal.aborted ? abort : drain).abort());
  }
  process.on('SIGHUP', () => undefined);
  return { drain: drain.signal, abort: abort.signal };
}
