import { randomInt } from 'node:crypto';

export const INSTALLATIONS = ['separate', 'redis', 'single'] as const;
export type InstallationKind = (typeof INSTALLATIONS)[number];

export interface ChaosOptions {
  readonly installations: readonly InstallationKind[];
  /** How long load and kills last; draining and checking come on top. */
  readonly durationMs: number;
  readonly killIntervalMs: { readonly min: number; readonly max: number };
  /** Pause between two operations of the load; the first bound of each random pause. */
  readonly loadIntervalMs: number;
  /** The final wait ends after this long without any progress. */
  readonly stallTimeoutMs: number;
  /** The same seed repeats the order of kills and of operations, not their exact times. */
  readonly seed: number;
}

const SHORT_MINUTES = 0.2;
const LONG_MINUTES = 10;

/**
 * Parameters of a chaos test, from CHAOS_* variables:
 *
 *   CHAOS_INSTALLATION   separate, redis, single, or several of them with commas
 *   CHAOS_MINUTES        minutes of load and kills for each installation
 *   CHAOS_KILL_INTERVAL  seconds between two kills, as MIN-MAX
 *   CHAOS_LOAD_INTERVAL  mean seconds between two operations of the load
 *   CHAOS_STALL_TIMEOUT  seconds without progress after which the final wait ends
 *   CHAOS_SEED           a number that an earlier test printed
 *
 * Without them a long test (HEADRACE_TEST_LONG=1) has its full size, and any other is short.
 */
export function chaosOptions(environment: NodeJS.ProcessEnv): ChaosOptions {
  const isLong = environment.HEADRACE_TEST_LONG === '1';
  const seconds = (name: string, otherwise: number): number => numberOf(environment, name, otherwise) * 1000;
  return {
    installations: installationsOf(environment.CHAOS_INSTALLATION ?? (isLong ? INSTALLATIONS.join() : 'single')),
    durationMs: numberOf(environment, 'CHAOS_MINUTES', isLong ? LONG_MINUTES : SHORT_MINUTES) * 60_000,
    killIntervalMs: intervalOf(environment.CHAOS_KILL_INTERVAL ?? (isLong ? '5-10' : '3-4')),
    loadIntervalMs: seconds('CHAOS_LOAD_INTERVAL', isLong ? 1.5 : 1),
    stallTimeoutMs: seconds('CHAOS_STALL_TIMEOUT', 60),
    seed: numberOf(environment, 'CHAOS_SEED', randomInt(1, 2 ** 31)),
  };
}

function installationsOf(text: string): InstallationKind[] {
  return text.split(',').map((name) => {
    const kind = INSTALLATIONS.find((known) => known === name.trim());
    if (kind === undefined)
      throw new Error(`CHAOS_INSTALLATION: unknown installation "${name}"; known: ${INSTALLATIONS.join(', ')}.`);
    return kind;
  });
}

function intervalOf(text: string): { min: number; max: number } {
  const [min = NaN, max = min] = text.split('-').map(Number);
  if (!(min > 0 && max >= min)) throw new Error(`CHAOS_KILL_INTERVAL: must be MIN-MAX in seconds, not "${text}".`);
  return { min: min * 1000, max: max * 1000 };
}

function numberOf(environment: NodeJS.ProcessEnv, name: string, otherwise: number): number {
  const value = Number(environment[name] ?? otherwise);
  if (!(value > 0)) throw new Error(`${name}: must be a number above 0, not "${environment[name]}".`);
  return value;
}
