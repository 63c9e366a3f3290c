import { Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { SchedulerRegistry } from '@nestjs/schedule';
import { SteadyTicks } from '#platform/jobs';
import { ScheduleFiringsStore } from '../persistence/schedule-firings.store.js';
import { TimersStore } from '../persistence/timers.store.js';

const EVERY_MS = 600_000;
const ENOUGH = 10_000;

/** Forgets what nobody asks for any more. */
@Injectable()
export class TimerUpkeep implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly ticks: SteadyTicks;

  constructor(
    private readonly firings: ScheduleFiringsStore,
    private readonly timers: TimersStore,
    intervals: SchedulerRegistry,
  ) {
    this.ticks = new SteadyTicks(intervals, TimerUpkeep.name);
  }

  onApplicationBootstrap(): void {
    this.ticks.every('timer-upkeep', EVERY_MS, () => this.execute());
  }

  onModuleDestroy(): void {
    this.ticks.stop();
  }

  private async execute(): Promise<void> {
    while ((await this.firings.prune()) >= ENOUGH);
    await this.timers.forgetOutages();
  }
}
