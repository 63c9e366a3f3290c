import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { FactoriesService } from '#domain/factories';
import { isDatabaseUnavailable, type Queryable } from '#platform/persistence';
import { type DueTimer, TimerHandler, TimerHandlers, type TimerOutcome } from '#platform/timers';
import { FireAutomations } from '../application/fire-automations.js';
import { AUTOMATION_TIMER, readTimerKey, ScheduleTrigger } from './schedule-trigger.js';

@Injectable()
export class AutomationTimer extends TimerHandler implements OnModuleInit {
  override readonly kind = AUTOMATION_TIMER;
  private readonly logger = new Logger(AutomationTimer.name);

  constructor(
    private readonly handlers: TimerHandlers,
    private readonly factories: FactoriesService,
    private readonly trigger: ScheduleTrigger,
    private readonly automations: FireAutomations,
  ) {
    super();
  }

  onModuleInit(): void {
    this.handlers.register(this);
  }

  override async fire(_tx: Queryable, due: readonly DueTimer[], enough: AbortSignal): Promise<readonly TimerOutcome[]> {
    const outcomes: TimerOutcome[] = [];
    // One after the other: the runs of one event are already started concurrently.
    for (const timer of due) outcomes.push(enough.aborted ? 'retry' : await this.one(timer, enough));
    return outcomes;
  }

  private async one({ key, fire, missed }: DueTimer, enough: AbortSignal): Promise<TimerOutcome> {
    if (missed)
      this.logger.warn({
        msg: 'missed due times of automations',
        timer: key,
        from: missed.first,
        to: missed.last,
      });
    if (fire === null) return 'done';
    const { factoryUid, subject } = readTimerKey(key);
    try {
      const factory = await this.factories.find(factoryUid);
      if (!factory) return 'remove';
      const scope = { factoryUid, teamUid: factory.teamUid };
      const results = await this.automations.execute(this.trigger.eventOf(scope, subject, fire), enough);
      return results.length > 0 ? 'done' : 'remove';
    } catch (error) {
      // Fired again, the event finds the runs that it has already started.
      if (!isDatabaseUnavailable(error) && error !== enough.reason) this.logger.error(error);
      return 'retry';
    }
  }
}
