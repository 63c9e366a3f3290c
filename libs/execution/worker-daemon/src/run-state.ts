import { fields } from '#execution/runner';
import type { HostLog } from '#execution/backends';
import type { WorkerTask } from '#execution/worker';
import type { WorkerOptions } from './options/read-worker-options.js';

const RESPONSE_TIMEOUT_MS = 10_000;
const ENDED_STATES = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED'];

type Access = Pick<WorkerOptions, 'serverRootUrl' | 'apiKey'>;

/** Of a runner that got SIGTERM, as an idle one does, maybe while it was ending by itself. */
const TERMINATED = 143;

/** A runner ends with 0 after it has reported any result, so the state of the run is queried. */
export async function outcomeCode(
  access: Access,
  { taskId, exitCode }: { readonly taskId: string; readonly exitCode: number },
): Promise<number> {
  if (exitCode !== 0 && exitCode !== TERMINATED) return exitCode;
  const state = await runState(access, taskId);
  if (state === 'SUCCEEDED') return 0;
  return state !== null && ENDED_STATES.includes(state) ? 1 : exitCode || 1;
}

/** Whether the run has ended, so that its runner only waits for follow-ups. False when the state is unknown. */
export async function hasRunEnded(access: Access, taskId: string): Promise<boolean> {
  const state = await runState(access, taskId);
  return state !== null && ENDED_STATES.includes(state);
}

async function runState({ serverRootUrl, apiKey }: Access, taskId: string): Promise<string | null> {
  try {
    const response = await fetch(`${serverRootUrl}/api/v1/agent/runs/${encodeURIComponent(taskId)}`, {
      headers: { authorization: `Bearer ${apiKey()}` },
      signal: AbortSignal.timeout(RESPONSE_TIMEOUT_MS),
      redirect: 'error',
    });
    const { state } = fields(await response.json());
    return response.ok && typeof state === 'string' ? state : null;
  } catch {
    return null;
  }
}

const POLL_MS = 1_000;

/** While the worker drains, ends runners that only wait for follow-ups, which could take very long. */
export class IdleRunnerMonitor {
  private timer: NodeJS.Timeout | undefined;
  private isChecking = false;

  constructor(
    private readonly live: () => readonly WorkerTask[],
    private readonly queries: {
      readonly hasRunEnded: (taskId: string) => Promise<boolean>;
      /** The server rejects this worker, so it cannot be queried. Runners have separate tokens and still know their state. */
      readonly isRejected: () => boolean;
    },
    private readonly log: HostLog,
  ) {}

  start(): void {
    this.timer ??= setInterval(() => void this.checkAll(), POLL_MS).unref();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private async checkAll(): Promise<void> {
    if (this.isChecking) return;
    this.isChecking = true;
    for (const task of this.live()) if (task.stopMode === null && task.runner !== null) await this.check(task);
    this.isChecking = false;
  }

  private async check(task: WorkerTask): Promise<void> {
    const { runId: task_id, executionId: execution_id } = task;
    if (this.queries.isRejected()) {
      if (task.retire()) this.log.info('a runner ends when it is idle', { task_id, execution_id });
    } else if (await this.queries.hasRunEnded(task_id)) task.requestStop('drain');
  }
}
