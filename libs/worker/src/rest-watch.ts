import type { ActiveTask } from './active-task.js';

const LOOK_MS = 1_000;

/**
 * While the worker wants to leave: ends runners whose run has come to rest and that only wait for follow-ups, which could
 * take longer than anybody wants to wait.
 */
export class RestWatch {
  private timer: NodeJS.Timeout | undefined;
  private isLooking = false;

  constructor(
    private readonly live: () => readonly ActiveTask[],
    private readonly isAtRest: (taskId: string) => Promise<boolean>,
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
    for (const task of this.live()) {
      if (task.wish === null && task.runner !== null && (await this.isAtRest(task.taskId))) task.ask('drain');
    }
    this.isLooking = false;
  }
}
