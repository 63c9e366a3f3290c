import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { TeamDirectory } from '#platform/auth';
import { Settings } from '#platform/config';
import { BackgroundTasks, defineTask } from '#platform/jobs';
import { isDatabaseUnavailable, type Queryable } from '#platform/persistence';
import { RunTail } from '#execution/executions';
import { type DueTimer, TimerHandler, TimerHandlers, type TimerOutcome, TimerSteps } from '#platform/timers';
import type { Schedule } from '../domain/schedule.js';
import { type FiringRecord, PRUNE_BATCH_SIZE, ScheduleFiringsStore } from '../persistence/schedule-firings.store.js';
import { SCHEDULE_TIMER, SchedulesStore } from '../persistence/schedules.store.js';
import { ScheduleLauncher } from './schedule-launcher.js';

const PRUNE_FIRINGS_TASK = defineTask({
  name: 'prune-firings',
  library: 'schedules',
  process: 'processor',
  scope: 'process',
  period: 600_000,
  description: 'Deletes records of firings that are older than 30 days.',
});

/** Runs that are started at the same time, and so share a statement; requests of users are handled between two batches. */
const CONCURRENT_LAUNCHES = 32;

interface Fired {
  readonly outcome: TimerOutcome;
  readonly records: readonly FiringRecord[];
  /** Why the timer is retried, for users. */
  readonly delay?: { readonly uid: string; readonly reason: string };
}

const RETRY: Fired = { outcome: 'retry', records: [] };

@Injectable()
export class ScheduleTimer extends TimerHandler implements OnModuleInit {
  override readonly kind = SCHEDULE_TIMER;
  private readonly logger = new Logger(ScheduleTimer.name);

  constructor(
    private readonly schedules: SchedulesStore,
    private readonly firings: ScheduleFiringsStore,
    private readonly runs: RunTail,
    private readonly launcher: ScheduleLauncher,
    private readonly teams: TeamDirectory,
    private readonly settings: Settings,
    private readonly handlers: TimerHandlers,
    private readonly steps: TimerSteps,
    tasks: BackgroundTasks,
  ) {
    super();
    tasks.implement(PRUNE_FIRINGS_TASK, async () =>
      (await firings.prune()) >= PRUNE_BATCH_SIZE ? 'again' : undefined,
    );
  }

  onModuleInit(): void {
    this.handlers.register(this);
  }

  override async fire(tx: Queryable, due: readonly DueTimer[], signal: AbortSignal): Promise<readonly TimerOutcome[]> {
    const uids = due.map(({ key }) => key);
    const found = await this.schedules.findAll(tx, uids);
    const schedules = new Map(found.map((schedule) => [schedule.uid, schedule]));
    const busy = await this.runs.unfinished(
      tx,
      found.flatMap(({ overlapPolicy, lastRunId }) => (overlapPolicy === 'skip' && lastRunId ? [lastRunId] : [])),
    );
    const fired: Fired[] = [];
    for (let index = 0; index < due.length; index += CONCURRENT_LAUNCHES) {
      const next = due.slice(index, index + CONCURRENT_LAUNCHES);
      if (signal.aborted) fired.push(...next.map(() => RETRY));
      else fired.push(...(await Promise.all(next.map((timer) => this.fireOne(timer, schedules.get(timer.key), busy)))));
    }
    this.steps.reached('launched');
    const { schedulePauseAfterFailures } = this.settings;
    const records = fired.flatMap((one) => one.records);
    const delays = fired.flatMap(({ delay }) => delay ?? []);
    await this.schedules.noteSpawnErrors(tx, delays);
    const paused = new Set(await this.firings.record(tx, records, schedulePauseAfterFailures));
    return fired.map(({ outcome }, index) => (paused.has(due[index]?.key ?? '') ? 'remove' : outcome));
  }

  private async fireOne(
    { key: uid, fire, missed }: DueTimer,
    schedule: Schedule | undefined,
    busy: ReadonlySet<string>,
  ): Promise<Fired> {
    if (!schedule?.enabled) return { outcome: 'remove', records: [] };
    const records: FiringRecord[] = missed
      ? [{ uid, dueAt: missed.first, outcome: 'missed', missedThrough: missed.last }]
      : [];
    if (fire === null) return { outcome: 'done', records };
    try {
      const started = await this.start(schedule, fire, busy);
      return 'outcome' in started ? { outcome: 'done', records: [...records, started] } : { ...RETRY, delay: started };
    } catch (error) {
      if (!isDatabaseUnavailable(error)) this.logger.error(error);
      return RETRY;
    }
  }

  private async start(
    schedule: Schedule,
    dueAt: Date,
    busy: ReadonlySet<string>,
  ): Promise<FiringRecord | NonNullable<Fired['delay']>> {
    const { uid, owner, lastRunId } = schedule;
    const skipped = (detail: string): FiringRecord => ({ uid, dueAt, outcome: 'skipped', detail });
    if (lastRunId !== null && busy.has(lastRunId)) return skipped(`The previous run ${lastRunId} is not finished.`);
    if (owner.teamUid !== null && !(await this.teams.settings(owner.teamUid)).features.schedules)
      return skipped('Schedules are disabled for the team.');
    const launched = await this.launcher.launchDue(schedule, dueAt);
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
