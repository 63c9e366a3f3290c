import { flagsHelp, readWorkerOptions, runWorker, WorkerFault } from '#execution/worker-daemon';
import { takeFromEnvironment } from '../runner-door/take-from-environment.js';

const SECRETS = ['HEADRACE_TOKEN', 'WARP_API_KEY'] as const;

/**
 * The daemon of a self-hosted worker. The first SIGTERM (or SIGINT) drains, the second stops what runs. Logs JSON lines to
 * standard error.
 */
export async function run(args: readonly string[]): Promise<number> {
  process.stderr.on('error', () => undefined);
  process.umask(0o077);
  const [drain, stop] = [new AbortController(), new AbortController()];
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => (drain.signal.aborted ? stop : drain).abort());
  process.on('SIGHUP', () => undefined);
  try {
    const options = readWorkerOptions(args, process.env);
    // Nothing that is started from here on inherits it; agents that run as the user of the worker do not find it either.
    takeFromEnvironment(SECRETS);
    const write = (line: string): void => void process.stderr.write(line);
    return await runWorker(options, { write, drain: drain.signal, stop: stop.signal });
  } catch (error) {
    if (!(error instanceof WorkerFault)) throw error;
    process.stderr.write(`headrace: ${error.message}\n`);
    return error.exitCode;
  }
}

/** For `--help`. */
export const help = flagsHelp;
