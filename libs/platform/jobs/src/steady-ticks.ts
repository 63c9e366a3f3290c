import { Logger } from '@nestjs/common';
import type { SchedulerRegistry } from '@nestjs/schedule';
import { isDatabaseUnavailable } from '#platform/persistence';

/** Ticks that wait for the one before them, and whose fault costs one tick. A database that is away is no news. */
export class SteadyTicks {
  private readonly names: string[] = [];
  private readonly logger: Logger;

  /** `owner`: under which faults are logged. */
  constructor(
    private readonly timers: SchedulerRegistry,
    owner: string,
  ) {
    this.logger = new Logger(owner);
  }

  every(name: string, milliseconds: number, work: () => Promise<void>): void {
    let running = false;
    const tick = (): void => {
      if (running) return;
      running = true;
      work()
        .catch((error: unknown) => {
          if (!isDatabaseUnavailable(error)) this.logger.warn(`${name}: ${String(error)}`);
        })
        .finally(() => {
          running = false;
        });
    };
    this.timers.addInterval(name, setInterval(tick, milliseconds));
    this.names.push(name);
  }

  stop(): void {
    for (const name of this.names.splice(0))
      if (this.timers.doesExist('interval', name)) this.timers.deleteInterval(name);
  }
}
