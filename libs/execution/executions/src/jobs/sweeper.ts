import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { SchedulerRegistry } from '@nestjs/schedule';
import { AccessChanges } from '#platform/auth';
import { Settings } from '#platform/config';
import { isDatabaseUnavailable } from '#platform/persistence';
import { SweepExecutions } from '../application/sweep-executions.js';
import { sweepIntervalMs } from '../domain/lease.js';

/** Looks for executions that went silent, idle sessions, unanswered questions, and runs of users who were disabled. */
@Injectable()
export class Sweeper implements OnApplicationBootstrap {
  private readonly logger = new Logger(Sweeper.name);
  private running: Promise<void> | null = null;
  private unsubscribe: (() => void) | null = null;

  constructor(
    private readonly sweep: SweepExecutions,
    private readonly settings: Settings,
    private readonly timers: SchedulerRegistry,
    private readonly changes: AccessChanges,
  ) {}

  onApplicationBootstrap(): void {
    this.unsubscribe = this.changes.subscribe(() => this.tick());
    this.timers.addInterval(
      'execution-sweeper',
      setInterval(() => this.tick(), sweepIntervalMs(this.settings.leaseTtl)),
    );
  }

  async stop(): Promise<void> {
    this.unsubscribe?.();
    if (this.timers.doesExist('interval', 'execution-sweeper')) this.timers.deleteInterval('execution-sweeper');
    await this.running;
  }

  private tick(): void {
    this.running ??= this.sweep
      .execute()
      .then((lost) => {
        if (lost > 0) this.logger.warn(`Gave up ${lost} execution(s) whose runner went silent.`);
      })
      .catch((error: unknown) => {
        // While the database is away there is nothing to sweep; the next tick tries again.
        if (!isDatabaseUnavailable(error)) this.logger.error(error);
      })
      .finally(() => {
        this.running = null;
      });
  }
}
