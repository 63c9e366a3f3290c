import { within } from '#platform/kernel';
import type { HostLog } from '#execution/backends';

const PHASE_POLL_MS = 250;

export interface StartedRunner {
  signal(signal: 'SIGTERM' | 'SIGKILL'): void;
  /** Resolves, and never rejects, when all processes of the execution have ended. */
  readonly gone: Promise<void>;
}

interface DrainOptions {
  /** By execution id; the caller removes a runner that has ended. */
  readonly runners: ReadonlyMap<string, StartedRunner>;
  readonly working: (ids: readonly string[]) => Promise<ReadonlySet<string>>;
  readonly graceMs: number;
  /** How long a runner may take to exit after SIGTERM. */
  readonly patienceMs: number;
  readonly log: HostLog;
}

/** Lets working agents finish until the deadline, sends SIGTERM to all others, and kills those that do not exit. */
export async function drainRunners({ runners, working, graceMs, patienceMs, log }: DrainOptions): Promise<void> {
  const deadline = performance.now() + graceMs;
  const signalled = new Set<string>();
  const hasUnsignalled = (): boolean => [...runners.keys()].some((executionId) => !signalled.has(executionId));
  const nextExit = (timeoutMs: number): Promise<void> =>
    within(timeoutMs, Promise.race([...runners.values()].map(({ gone }) => gone)), () => undefined);
  /** All count as working when it is not known. */
  const listWorking = async (): Promise<ReadonlySet<string>> => {
    const ids = [...runners.keys()];
    return working(ids).catch((error: unknown) => {
      log.warn(`Draining without knowing which agents are working: ${String(error)}`);
      return new Set(ids);
    });
  };
  while (hasUnsignalled()) {
    const busy = performance.now() < deadline ? await listWorking() : new Set<string>();
    for (const [executionId, runner] of runners) {
      if (busy.has(executionId) || signalled.has(executionId)) continue;
      signalled.add(executionId);
      runner.signal('SIGTERM');
    }
    if (hasUnsignalled()) await nextExit(PHASE_POLL_MS);
  }
  const patience = performance.now() + patienceMs;
  while (runners.size > 0 && performance.now() < patience) await nextExit(patience - performance.now());
  for (const runner of runners.values()) runner.signal('SIGKILL');
  await Promise.all([...runners.values()].map(({ gone }) => gone));
}
