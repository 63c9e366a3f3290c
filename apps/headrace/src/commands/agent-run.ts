import { UsageError } from '../cli/command.js';

/**
 * Carries out one execution, for whoever starts it: a worker daemon with `--task-id`, a person or a CI job with `--prompt`,
 * an executor of ours with a hand-over on standard input. Other arguments are accepted and ignored with the latter, so that
 * an older runner can be started by a newer control plane.
 */
export async function run(args: readonly string[]): Promise<number> {
  if (has(args, 'task-id')) return (await import('../runner-door/run-task.js')).runTask(args);
  if (has(args, 'prompt')) return (await import('../external-run/run-external.js')).runExternal(args);
  if (process.stdin.isTTY) throw new UsageError('--prompt is missing');
  return (await import('../runner-door/run-handover.js')).runHandover();
}

const has = (args: readonly string[], name: string): boolean =>
  args.some((arg) => arg === `--${name}` || arg.startsWith(`--${name}=`));
