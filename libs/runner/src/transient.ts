import { NoAnswerError } from './protocol/control-plane.js';
import { backoffMs, sleep } from './sleep.js';

/** Beyond this the execution is handed back: another worker may reach what this one does not. */
const RETRY_LIMIT_MS = 5 * 60_000;
const FULL_DISK = ['ENOSPC', 'EDQUOT'];

/** What passes without anybody changing the run: a control plane or object store that does not answer, and a full disk. */
export function isTransient(error: unknown): boolean {
  return error instanceof NoAnswerError || FULL_DISK.includes((error as NodeJS.ErrnoException).code ?? '');
}

/**
 * Repeats an attempt that fails for a transient reason, for five minutes or until the signal aborts. Only for what comes
 * before the agent starts: until then a run may be executed again, so a fault must not end it.
 */
export async function retryTransient<T>(attempt: () => Promise<T>, signal: AbortSignal): Promise<T> {
  const giveUpAt = performance.now() + RETRY_LIMIT_MS;
  for (let attempts = 0; ; attempts += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!isTransient(error) || signal.aborted || performance.now() >= giveUpAt) throw error;
      await sleep(backoffMs(attempts, 200, 2_000), signal);
    }
  }
}
