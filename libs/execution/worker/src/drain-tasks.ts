import type { HostLog } from '#execution/backends';
import { within } from '#platform/kernel';
import type { WorkerTask } from './worker-task.js';

const PHASE_POLL_MS = 250;
/** How long a runner may take to end after it was requested to retire. Pods, and runners of earlier versions, need SIGTERM. */
const RETIRE_MS = 2000;

export interface DrainOptions {
  /** Of these executions those whose agents are working. */
  readonly working: (executionIds: readonly string[]) => Promise<ReadonlySet<string>>;
  readonly graceMs: number;
  /** How long a runner may take to exit after SIGTERM. */
  readonly patienceMs: number;
}

/**
 * Lets working agents finish until the deadline, ends all other runners, and kills those that do not exit. They are requested to retire
 * first: an agent may begin to work after it was looked at, and SIGTERM would end its run.
 * @param tasks by execution; the worker removes those that have ended.
 */
export async function drainTasks(
  tasks: ReadonlyMap<string, WorkerTask>,
  { working, graceMs, patienceMs }: DrainOptions,
  log: HostLog,
): Promise<void> {
  const deadline = performance.now() + graceMs;
  const signalled = new Set<string>();
  const retiringSince = new Map<string, number>();
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
    const now = performance.now();
    for (const [executionId, task] of tasks) {
      if (busy.has(executionId) || signalled.has(executionId)) continue;
      const since = retiringSince.get(executionId) ?? now;
      if (task.runner !== null && now < deadline && now - since < RETIRE_MS) {
        retiringSince.set(executionId, since);
        task.retire();
        continue;
      }
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
