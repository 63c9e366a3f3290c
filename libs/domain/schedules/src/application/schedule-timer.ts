import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { TeamDirectory } from '#platform/auth';
import { Settings } from '#platform/config';
import { isDatabaseUnavailable, type Queryable } from '#platform/persistence';
import { RunTail } from '#execution/executions';
import type { Schedule } from '../domain/schedule.js';
import { type FiringRecord, ScheduleFiringsStore } from '../persistence/schedule-firings.store.js';
import { SCHEDULE_TIMER, SchedulesStore } from '../persistence/schedules.store.js';
import { LaunchSchedule } from './launch-schedule.js';
import { type DueTimer, TimerHandler, type TimerOutcome } from './timer-handler.js';
import { TimerHandlers } from './timer-handlers.js';
import { TimerSteps } from './timer-steps.js';

/** Runs that are started at the same time, and so share a statement; what people ask for gets its turn between two. */
const LAUNCHES_AT_ONCE = 32;

interface Fired {
  readonly outcome: TimerOutcome;
  readonly records: readonly FiringRecord[];
  /** Why it is to be fired again, for people. */
  readonly delay?: { readonly uid: string; readonly reason: string };
}

const AGAIN: Fired = { outcome: 'again', records: [] };

@Injectable()
export class ScheduleStores {
  constructor(
    readonly schedules: SchedulesStore,
    readonly firings: ScheduleFiringsStore,
    readonly runs: RunTail,
  ) {}
}

/** Timers of schedules: a run for each due time. */
@Injectable()
export class ScheduleTimer extends TimerHandler implements OnModuleInit {
  override readonly kind = SCHEDULE_TIMER;
  private readonly logger = new Logger(ScheduleTimer.name);

  constructor(
    private readonly stores: ScheduleStores,
    private readonly launch: LaunchSchedule,
    private readonly teams: TeamDirectory,
    private readonly settings: Settings,
    private readonly handlers: TimerHandlers,
    private readonly steps: TimerSteps,
  ) {
    super();
  }

  onModuleInit(): void {
    this.handlers.register(this);
  }

  override async fire(tx: Queryable, due: readonly DueTimer[], enough: AbortSignal): Promise<readonly TimerOutcome[]> {
    const found = await this.stores.schedules.findAll(
      tx,
      due.map(({ key }) => key),
    );
    const schedules = new Map(found.map((schedule) => [schedule.uid, schedule]));
    const busy = await this.stores.runs.unfinished(
      tx,
      found.flatMap(({ overlapPolicy, lastRunId }) => (overlapPolicy === 'skip' && lastRunId ? [lastRunId] : [])),
    );
    const fired: Fired[] = [];
    for (let index = 0; index < due.length; index += LAUNCHES_AT_ONCE) {
      const next = due.slice(index, index + LAUNCHES_AT_ONCE);
      if (enough.aborted) fired.push(...next.map(() => AGAIN));
      else fired.push(...(await Promise.all(next.map((timer) => this.one(timer, schedules.get(timer.key), busy)))));
    }
    this.steps.reached('launched');
    const { schedulePauseAfter } = this.settings;
    const records = fired.flatMap((one) => one.records);
    await this.stores.schedules.noteSpawnErrors(
      tx,
      fired.flatMap(({ delay }) => delay ?? []),
    );
    const paused = new Set(await this.stores.firings.record(tx, records, schedulePauseAfter));
    return fired.map(({ outcome }, index) => (paused.has(due[index]?.key ?? '') ? 'gone' : outcome));
  }

  private async one(
    { key: uid, fire, missed }: DueTimer,
    schedule: Schedule | undefined,
    busy: ReadonlySet<string>,
  ): Promise<Fired> {
    if (!schedule?.enabled) return { outcome: 'gone', records: [] };
    const records: FiringRecord[] = missed
      ? [{ uid, dueAt: missed.first, outcome: 'missed', missedThrough: missed.last }]
      : [];
    if (fire === null) return { outcome: 'done', records };
    try {
      const started = await this.start(schedule, fire, busy);
      return 'outcome' in started ? { outcome: 'done', records: [...records, started] } : { ...AGAIN, delay: started };
    } catch (error) {
      if (!isDatabaseUnavailable(error)) this.logger.error(error);
      return AGAIN;
    }
  }

  private async start(
    schedule: Schedule,
    dueAt: Date,
    busy: ReadonlySet<string>,
  ): Promise<FiringRecord | NonNullable<Fired['delay']>> {
    const { uid, owner, lastRunId } = schedule;
    const skipped = (detail: string): FiringRecord => ({ uid, dueAt, outcome: 'skipped', detail });
    if (lastRunId !== null && busy.has(lastRunId)) return skipped(`The run ${lastRunId} before it was still going on.`);
    if (owner.teamUid !== null && !(await this.teams.settings(owner.teamUid)).features.schedules)
      return skipped('Schedules are switched off for the team.');
    const launched = await this.launch.execute(schedule, dueAt);
    switch (launched.kind) {
      case 'started':
        return { uid, dueAt, outcome: 'started', runId: launched.runId };
      case 'refused':
        return { uid, dueAt, outcome: 'refused', detail: launched.reason };
      case 'unavailable':
        return { uid, reason: launched.reason };
    }
  }
}
