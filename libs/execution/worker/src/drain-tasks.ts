import type { HostLog } from '#execution/backends';
import { within } from '#platform/kernel';
import type { WorkerTask } from './worker-task.js';

const PHASE_POLL_MS = 250;

export interface DrainOptions {
  /** Of these executions those whose agents are working. */
  readonly working: (executionIds: readonly string[]) => Promise<ReadonlySet<string>>;
  readonly graceMs: number;
  /** How long a runner may take to exit after SIGTERM. */
  readonly patienceMs: number;
}

/**
 * Lets working agents finish until the deadline, sends SIGTERM to all other runners, and kills those that do not exit.
 * @param tasks by execution; the worker removes those that have ended.
 */
export async function drainTasks(
  tasks: ReadonlyMap<string, WorkerTask>,
  { working, graceMs, patienceMs }: DrainOptions,
  log: HostLog,
): Promise<void> {
  const deadline = performance.now() + graceMs;
  const signalled = new Set<string>();
  const hasUnsignalled = (): boolean => [...tasks.keys()].some((executionId) => !signalled.has(executionId));
  const nextExit = (timeoutMs: number): Promise<void> =>
    within(timeoutMs, Promise.race([...tasks.values()].map(({ gone }) => gone)), () => undefined);
  /** All count as working when it is not known. */
  const listWorking = async (): Promise<ReadonlySet<string>> => {
    const ids = [...tasks.keys()];
    return working(ids).catch((error: unknown) => {
      log.warn(`Draining without knowing which agents are working: ${String(error)}`);
      return new Set(ids);
    });
  };
  while (hasUnsignalled()) {
    const busy = performance.now() < deadline ? await listWorking() : new Set<string>();
    for (const [executionId, task] of tasks) {
      if (busy.has(executionId) || signalled.has(executionId)) continue;
      signalled.add(executionId);
      task.requestStop('drain');
    }
    if (hasUnsignalled()) await nextExit(PHASE_POLL_MS);
  }
  const patience = performance.now() + patienceMs;
  while (tasks.size > 0 && performance.now() < patience) await nextExit(patience - performance.now());
  for (const task of tasks.values()) task.requestStop('kill');
  await Promise.all([...tasks.values()].map(({ gone }) => gone));
}
