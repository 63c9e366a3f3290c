import { LRUCache } from 'lru-cache';

const LONGEST_NAME = 64;
const NAME = /^[A-Za-z][A-Za-z0-9_+/-]*$/;
const MAX_KNOWN_NAMES = 1000;

/** Cached: the check is slow, and the same names occur again. */
const known = new Set<string>(['UTC']);

/** Whether `name` is a time zone this Node.js knows by its IANA name. Offsets such as `+02:00` are not names. */
export function isTimeZone(name: string): boolean {
  if (known.has(name)) return true;
  if (name.length > LONGEST_NAME || !NAME.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: name });
    if (known.size < MAX_KNOWN_NAMES) known.add(name);
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

const DAY_MS = 24 * 3600_000;
const SECOND_MS = 1000;
const MAX_FORMATS = 1000;
const FORMAT = /^(\d+)\/(\d+)\/(\d+), (\d+):(\d+):(\d+)$/;

const formats = new LRUCache<string, Intl.DateTimeFormat>({ max: MAX_FORMATS });

/** The local time of a time zone, in milliseconds as if it were UTC. */
export class WallClock {
  constructor(private readonly timezone: string) {}

  /** The local time at an instant, to the second. */
  at(instant: number): number {
    const shown = FORMAT.exec(formatOf(this.timezone).format(instant));
    if (!shown) throw new Error(`The time in ${this.timezone} cannot be read.`);
    const [month = 0, day = 0, year = 0, hour = 0, minute = 0, second = 0] = shown.slice(1).map(Number);
    return Date.UTC(year, month - 1, day, hour, minute, second);
  }

  /** When a clock change skips it, the instant of the change; null when the zone skips the whole day. */
  first(time: number): number | null {
    // No zone changes its clocks twice within two days.
    const [before, after] = [this.offset(time - DAY_MS), this.offset(time + DAY_MS)];
    const [early, late] = [time - Math.max(before, after), time - Math.min(before, after)];
    if (early === late || this.at(early) === time) return early;
    if (this.at(late) === time) return late;
    return after - before >= DAY_MS ? null : this.change(early, late, after);
  }

  private offset(instant: number): number {
    return this.at(instant) - instant;
  }

  /** The first instant in (from, to] with this offset, which `to` has. */
  private change(from: number, to: number, offset: number): number {
    let [before, after] = [from, to];
    while (after - before > SECOND_MS) {
      const middle = before + Math.ceil((after - before) / 2 / SECOND_MS) * SECOND_MS;
      if (middle < after && this.offset(middle) !== offset) before = middle;
      else if (middle < after) after = middle;
      else break;
    }
    return after;
  }
}

/** Cached: creating a format takes a hundred times as long as using it. */
function formatOf(timezone: string): Intl.DateTimeFormat {
  const known = formats.get(timezone);
  if (known) return known;
  const made = new Intl.DateTimeFormat('en-US', {
    timeZone: timezone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  formats.set(timezone, made);
  return made;
}
