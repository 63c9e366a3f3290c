import { onlyPositional } from '../cli/arguments.js';

const TIMEOUT_MS = 5_000;

/** Exit code 0 when a Headrace answers at this origin, 1 with the reason on standard error otherwise. */
export async function run(args: readonly string[]): Promise<number> {
  const origin = onlyPositional('origin', args);
  try {
    const response = await fetch(`${origin}/health/ready`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    if ('ready' in ((await response.json()) as object)) return 0;
    process.stderr.write(`${origin} is not a Headrace API.\n`);
  } catch (error) {
    const { message, cause } = error as Error;
    process.stderr.write(`${cause instanceof Error ? cause.message : message}\n`);
  }
  return 1;
}
