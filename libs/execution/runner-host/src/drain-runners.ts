import type { HostLog } from './host-log.js';

const PHASE_POLL_MS = 250;

/** A runner that an executor has started. */
export interface StartedRunner {
  signal(signal: 'SIGTERM' | 'SIGKILL'): void;
  /** Resolves, and never rejects, when nothing of the execution is left. */
  readonly gone: Promise<void>;
}

export interface DrainOptions {
  /** By execution id. Whoever has gone leaves it. */
  readonly runners: ReadonlyMap<string, StartedRunner>;
  /** Executions whose agent works at this moment. */
  readonly working: (ids: readonly string[]) => Promise<ReadonlySet<string>>;
  /** How long those may go on. */
  readonly graceMs: number;
  /** How long a runner that may take to exit after SIGTERM. */
  readonly patienceMs: number;
  readonly log: HostLog;
}

/** Lets what works finish in time, asks whoever does not to leave, and kills what is left. */
export async function drainRunners({ runners, working, graceMs, patienceMs, log }: DrainOptions): Promise<void> {
  const deadline = performance.now() + graceMs;
  const signalled = new Set<string>();
  const hasUnsignalled = (): boolean => [...runners.keys()].some((executionId) => !signalled.has(executionId));
  const nextExit = async (timeoutMs: number): Promise<void> => {
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, timeoutMs);
    });
    await Promise.race([timeout, ...[...runners.values()].map(({ gone }) => gone)]);
    clearTimeout(timer);
  };
  /** With no answer all count as working. */
  const listWorking = async (): Promise<ReadonlySet<string>> => {
    const ids = [...runners.keys()];
    return working(ids).catch((error: unknown) => {
      log.warn(`Draining without knowing who works: ${String(error)}`);
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
