import { Injectable } from '@nestjs/common';
import { within } from '#platform/kernel';

type Check = () => Promise<unknown>;

export interface ReadinessReport {
  readonly ready: boolean;
  readonly draining: boolean;
  readonly checks: Readonly<Record<string, 'ok' | 'failed'>>;
}

/** Probes are public and may be frequent: a check that passed is not repeated within this time. */
const CACHE_MS = 1_000;
/** Shorter than the timeout of load balancers, so that their logs show which check failed. */
const CHECK_TIMEOUT_MS = 2_000;

@Injectable()
export class Readiness {
  private readonly checks = new Map<string, () => boolean | Promise<boolean>>();
  private draining = false;

  /** `check` rejects when the dependency is not usable. A check that does not settle in time has failed. */
  register(name: string, check: Check): void {
    this.checks.set(name, cached(check));
  }

  /** A condition of this process, evaluated for every probe. */
  require(name: string, isMet: () => boolean): void {
    this.checks.set(name, isMet);
  }

  /** Reports the process as not ready from now on, because it shuts down. */
  drain(): void {
    this.draining = true;
  }

  async report(): Promise<ReadinessReport> {
    const results = await Promise.all([...this.checks].map(async ([name, check]) => [name, await check()] as const));
    return {
      ready: !this.draining && results.every(([, isOk]) => isOk),
      draining: this.draining,
      checks: Object.fromEntries(results.map(([name, isOk]) => [name, isOk ? 'ok' : 'failed'])),
    };
  }
}

/** Probes during a check share its result. A failure is not cached, so that the next probe sees the recovery. */
function cached(check: Check): () => Promise<boolean> {
  let running: Promise<boolean> | null = null;
  let passedAt = -Infinity;
  return async () => {
    if (performance.now() - passedAt < CACHE_MS) return true;
    running ??= check()
      .then(
        () => {
          passedAt = performance.now();
          return true;
        },
        () => false,
      )
      .finally(() => {
        running = null;
      });
    return within(CHECK_TIMEOUT_MS, running, () => false);
  };
}
