import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { AccessChanges } from '#platform/auth';
import { BackgroundTasks, type PeriodicTask } from '#platform/jobs';
import { SweepExecutions } from '../application/sweep-executions.js';
import { SWEEP_EXECUTIONS_TASK } from './placement-jobs.js';

/** Ends executions whose runner is silent, idle sessions, unanswered questions, and runs of disabled users. */
@Injectable()
export class Sweeper implements OnApplicationBootstrap {
  private readonly logger = new Logger(Sweeper.name);
  private readonly task: PeriodicTask;
  private unsubscribe: (() => void) | null = null;

  constructor(
    private readonly sweep: SweepExecutions,
    private readonly changes: AccessChanges,
    tasks: BackgroundTasks,
  ) {
    this.task = tasks.implement(SWEEP_EXECUTIONS_TASK, () => this.run());
  }

  onApplicationBootstrap(): void {
    this.unsubscribe = this.changes.subscribe(() => this.task.wake());
  }

  async stop(): Promise<void> {
    this.unsubscribe?.();
    await this.task.stop();
  }

  private async run(): Promise<void> {
    const lost = await this.sweep.execute();
    if (lost > 0) this.logger.warn(`Ended ${lost} execution(s) whose runner was silent.`);
  }
}
