import type { HostLog } from '#execution/runner-host';
import type { ActiveTask } from './active-task.js';

const LOOK_MS = 1_000;

export interface RestQuestions {
  /** Whether the run has come to rest, as the server says. */
  isAtRest(taskId: string): Promise<boolean>;
  /** The server takes this worker no more, and tells it nothing. Runners have tokens of their own, so they still know. */
  isRefused(): boolean;
}

/**
 * While the worker wants to leave: ends runners whose run has come to rest and that only wait for follow-ups, which could
 * take longer than anybody wants to wait.
 */
export class RestWatch {
  private timer: NodeJS.Timeout | undefined;
  private isLooking = false;

  constructor(
    private readonly live: () => readonly ActiveTask[],
    private readonly ask: RestQuestions,
    private readonly log: HostLog,
  ) {}

  start(): void {
    this.timer ??= setInterval(() => void this.look(), LOOK_MS).unref();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private async look(): Promise<void> {
    if (this.isLooking) return;
    this.isLooking = true;
    for (const task of this.live()) if (task.wish === null && task.runner !== null) await this.lookAt(task);
    this.isLooking = false;
  }

  private async lookAt(task: ActiveTask): Promise<void> {
    const { taskId: task_id, executionId: execution_id } = task;
    if (this.ask.isRefused()) {
      if (task.retire()) this.log.info('a runner shall end when it is idle', { task_id, execution_id });
    } else if (await this.ask.isAtRest(task_id)) task.ask('drain');
  }
}
