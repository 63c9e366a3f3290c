import { NoResponseError } from './protocol/control-plane.js';
import { errorText, type RunnerLog } from './runner-log.js';
import { WorkspacesMissingError } from './workspace/workspace.js';
import { retry } from './retry.js';

/** After this time the execution is handed back: another worker may not have the fault. */
const RETRY_LIMIT_MS = 5 * 60_000;
/** No space, no quota, or a file system that became read-only. */
const UNWRITABLE_DISK = ['ENOSPC', 'EDQUOT', 'EROFS'];
const REPORT_MS = 30_000;

/** Faults that may pass without a change of the run: no response of control plane or object store, a disk that is full. */
export function isTransient(error: unknown): boolean {
  if (error instanceof NoResponseError || error instanceof WorkspacesMissingError) return true;
  return UNWRITABLE_DISK.includes((error as NodeJS.ErrnoException).code ?? '');
}

export interface TransientOptions {
  /** The end of the execution is decided, for example because its lease is lost. */
  readonly signal: AbortSignal;
  readonly log: RunnerLog;
}

/** Only before the agent starts: until then a run may be executed again, so a fault must not end it. */
export async function retryTransient<T>(call: () => T | Promise<T>, { signal, log }: TransientOptions): Promise<T> {
  let reportedAt = -Infinity;
  const deadline = performance.now() + RETRY_LIMIT_MS;
  const again = (error: unknown, attempts: number): boolean => {
    if (!isTransient(error) || signal.aborted || performance.now() >= deadline) return false;
    if (performance.now() - reportedAt >= REPORT_MS) {
      reportedAt = performance.now();
      log.warn('the set-up is retried after a transient fault', { error: errorText(error), attempts });
    }
    return true;
  };
  return retry(call, { firstMs: 200, maxMs: 2_000, signal, again });
}
