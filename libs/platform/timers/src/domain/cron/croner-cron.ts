import { Cron as Croner } from 'croner';
import { WallClock } from './time-zone.js';

/** A parsed expression. Due times are whole minutes; docs/schedules.md describes the effect of daylight saving time. */
export interface Cron {
  readonly expression: string;
  /** An IANA name. */
  readonly timezone: string;
  /** The first due time strictly after `after`, or null where none follows. */
  next(after: Date): Date | null;
  /** The last due time later than `after` and not later than `until`, or null; fast however far apart they are. */
  latest(after: Date, until: Date): Date | null;
  /** The first `count` due times strictly after `after`. */
  upcoming(after: Date, count: number): Date[];
}

/** An expression as our grammar has parsed it. */
export interface CronPattern {
  /** Five fields in the syntax of croner. */
  readonly text: string;
  /** Whether it is due in every hour: it then follows elapsed time, not the local time. */
  readonly isEveryHour: boolean;
}

const UTC = 'UTC';
const MINUTE_MS = 60_000;

/** Croner finds local times; the instant of a local time in a zone that changes its clocks follows our own rule. */
export class CronerCron implements Cron {
  private readonly croner: Croner;
  private readonly wall: WallClock | null;

  constructor(
    readonly expression: string,
    readonly timezone: string,
    { text, isEveryHour }: CronPattern,
  ) {
    this.wall = isEveryHour || timezone === UTC ? null : new WallClock(timezone);
    // UTC by its offset: this takes a tenth of the time that it takes by its name.
    const zone = this.wall || timezone === UTC ? { utcOffset: 0 } : { timezone };
    this.croner = new Croner(text, { mode: '5-part', paused: true, ...zone });
  }

  next(after: Date): Date | null {
    const { wall } = this;
    if (!wall) return this.croner.nextRun(after);
    let time = this.croner.nextRun(new Date(wall.at(after.getTime())));
    while (time !== null) {
      const instant = wall.first(time.getTime());
      if (instant !== null && instant > after.getTime()) return new Date(instant);
      time = this.croner.nextRun(time);
    }
    return null;
  }

  latest(after: Date, until: Date): Date | null {
    let latest = this.dueBy(after, until);
    let beyond = until.getTime();
    while (latest !== null && beyond - latest.getTime() > MINUTE_MS) {
      const middle = new Date(latest.getTime() + Math.floor((beyond - latest.getTime()) / 2));
      const later = this.dueBy(middle, until);
      if (later === null) beyond = middle.getTime();
      else latest = later;
    }
    return latest === null ? null : (this.dueBy(latest, until) ?? latest);
  }

  upcoming(after: Date, count: number): Date[] {
    const times: Date[] = [];
    for (let time = this.next(after); time !== null && times.length < count; time = this.next(time)) times.push(time);
    return times;
  }

  private dueBy(after: Date, until: Date): Date | null {
    const next = this.next(after);
    return next === null || next.getTime() > until.getTime() ? null : next;
  }
}
