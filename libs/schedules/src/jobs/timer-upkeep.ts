import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { SchedulerRegistry } from '@nestjs/schedule';
import { isDatabaseUnavailable } from '#libs/persistence';
import { ScheduleFiringsStore } from '../persistence/schedule-firings.store.js';
import { TimersStore } from '../persistence/timers.store.js';

const UPKEEP = 'timer-upkeep';
const EVERY_MS = 600_000;
const ENOUGH = 10_000;

/** Forgets what nobody asks for any more. */
@Injectable()
export class TimerUpkeep implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(TimerUpkeep.name);

  constructor(
    private readonly firings: ScheduleFiringsStore,
    private readonly timers: TimersStore,
    private readonly intervals: SchedulerRegistry,
  ) {}

  onApplicationBootstrap(): void {
    this.intervals.addInterval(
      UPKEEP,
      setInterval(() => void this.execute(), EVERY_MS),
    );
  }

  onModuleDestroy(): void {
    if (this.intervals.doesExist('interval', UPKEEP)) this.intervals.deleteInterval(UPKEEP);
  }

  /** Never throws: what is left is forgotten the next time. */
  async execute(): Promise<void> {
    try {
      while ((await this.firings.prune()) >= ENOUGH);
      await this.timers.forgetOutages();
    } catch (error) {
      if (!isDatabaseUnavailable(error)) this.logger.warn(`Old firings were not pruned: ${String(error)}`);
    }
  }
}
