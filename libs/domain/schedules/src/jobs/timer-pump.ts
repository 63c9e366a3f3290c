import { Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { SchedulerRegistry } from '@nestjs/schedule';
import { Settings } from '#platform/config';
import { Pump, SteadyTicks } from '#platform/jobs';
import { FireTimers } from '../application/fire-timers.js';

const BEAT_MS = 5000;

/** Fires due timers, lap by lap until none is due. A clock that everybody reads is in the database, so this polls. */
@Injectable()
export class TimerPump implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly ticks: SteadyTicks;
  private readonly rounds = new Pump(TimerPump.name, () => this.laps());

  constructor(
    private readonly fire: FireTimers,
    private readonly settings: Settings,
    intervals: SchedulerRegistry,
  ) {
    this.ticks = new SteadyTicks(intervals, TimerPump.name);
  }

  onApplicationBootstrap(): void {
    this.rounds.open(this.settings.schedulePoll);
    // Also while a lap takes long.
    this.ticks.every('timer-beat', BEAT_MS, () => this.fire.beat());
  }

  onModuleDestroy(): Promise<void> {
    this.ticks.stop();
    return this.rounds.close();
  }

  private async laps(): Promise<void> {
    while (this.rounds.isOpen && (await this.fire.execute()) > 0);
  }
}
