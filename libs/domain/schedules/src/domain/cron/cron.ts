/** When a schedule is due. Due times are whole minutes; see docs/schedules.md for what daylight saving does to them. */
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
