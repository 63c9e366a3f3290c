import { Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { SchedulerRegistry } from '@nestjs/schedule';
import { Settings } from '#libs/config';
import { Pump } from '#libs/jobs';
import { FireTimers } from '../application/fire-timers.js';

const BEAT = 'timer-beat';
const BEAT_MS = 5000;

/** Fires due timers, lap by lap until none is due. A clock that everybody reads is in the database, so this polls. */
@Injectable()
export class TimerPump implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly rounds = new Pump(TimerPump.name, () => this.laps());

  constructor(
    private readonly fire: FireTimers,
    private readonly settings: Settings,
    private readonly intervals: SchedulerRegistry,
  ) {}

  onApplicationBootstrap(): void {
    this.rounds.open(this.settings.schedulePoll);
    this.intervals.addInterval(
      BEAT,
      setInterval(() => void this.fire.beat(), BEAT_MS),
    );
  }

  onModuleDestroy(): Promise<void> {
    if (this.intervals.doesExist('interval', BEAT)) this.intervals.deleteInterval(BEAT);
    return this.rounds.close();
  }

  private async laps(): Promise<void> {
    while (this.rounds.isOpen && (await this.fire.execute()) > 0);
  }
}
