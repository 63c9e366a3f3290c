import type { Clock } from '#platform/kernel';
import { jsonLinesLog } from '#execution/runner';

const EXIT_GRACE_MS = 1_000;

export const stderrLine = (line: string): void => void process.stderr.write(line);

/** Standard error takes JSON lines only, and its end is not ours. */
export function keepLogClean(clock: Clock): void {
  // Whoever reads our log may die before us; the execution ends by its lease then, not by a broken pipe.
  process.stderr.on('error', () => undefined);
  // Libraries that write to the console must not break the log's format, nor tell what they were given.
  for (const method of ['error', 'warn', 'log'] as const)
    console[method] = (first: unknown) => jsonLinesLog(stderrLine, clock).warn(String(first));
}

/** Nothing of the execution is left; a socket that lingers must not keep the process. */
export function leave(code: number): number {
  setTimeout(() => process.exit(code), EXIT_GRACE_MS).unref();
  return code;
}
