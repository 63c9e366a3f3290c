import { command, type CommandModule, UsageError } from '../cli/command.js';
import { EXTERNAL_RUN_OPTIONS, RESUME_ARGUMENT, RESUME_OPTIONS } from '../external-run/external-options.js';

const PROBE_TIMEOUT_MS = 5_000;

/**
 * Executes one run. Started by a worker daemon with `--task-id`, by a person or a CI job with `--prompt`, and by our own
 * backends with a hand-over on standard input, or in the file of `--handover`; the former ignores its arguments, so that a
 * newer control plane can start an older runner. Each case loads only its own code, because a runner must start quickly and stay small.
 */
export const run: CommandModule = {
  options: EXTERNAL_RUN_OPTIONS,
  run: async (args) => {
    const has = (name: string): boolean => args.some((arg) => arg === `--${name}` || arg.startsWith(`--${name}=`));
    if (has('task-id')) return (await import('../runner/run-task.js')).runTask(args);
    if (has('prompt')) return (await import('../external-run/run-external.js')).runExternal(args);
    if (has('handover')) return (await import('../runner/execute-handover.js')).runHandover(valueOf(args, 'handover'));
    if (process.stdin.isTTY) throw new UsageError('--prompt is missing');
    return (await import('../runner/execute-handover.js')).runHandover(null, has('reuse'));
  },
};

export const resume: CommandModule = {
  options: RESUME_OPTIONS,
  argument: RESUME_ARGUMENT,
  run: async (args) => (await import('../external-run/run-external.js')).resumeExternal(args),
};

/** Of `--name value` or `--name=value`. */
function valueOf(args: readonly string[], name: string): string {
  const index = args.findIndex((arg) => arg === `--${name}` || arg.startsWith(`--${name}=`));
  return args[index]?.slice(name.length + 3) || (args[index + 1] ?? '');
}

/** Exit code 0 when a Headrace API answers at this origin, 1 with the reason on standard error otherwise. */
export const probe = command({
  argument: 'origin',
  options: {},
  run: async (_options, origin) => {
    try {
      const response = await fetch(`${origin}/health/ready`, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
      if ('ready' in ((await response.json()) as object)) return 0;
      process.stderr.write(`${origin} is not a Headrace API.\n`);
    } catch (error) {
      const { message, cause } = error as Error;
      process.stderr.write(`${cause instanceof Error ? cause.message : message}\n`);
    }
    return 1;
  },
});

/** The guard of a runner starts this when the runner was killed. */
export const sweep: CommandModule = {
  options: {},
  run: async () => {
    await (await import('../runner/guard.js')).sweepRemains();
    return 0;
  },
};

/** The built-in agent speaks the Agent Client Protocol with the runner on standard input and output. */
export const builtinAgent: CommandModule = {
  options: {},
  run: async () => (await import('#execution/runner')).runBuiltinAgent(),
};
