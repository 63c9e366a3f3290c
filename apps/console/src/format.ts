const RELATIVE = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto', style: 'short' });
const ABSOLUTE = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const UNITS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
];

/** Characters that change the order of a text, or that nobody sees. */
const HIDDEN = /[\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800\u007f-\u009f]|[^\P{Cc}\t\n\r]/gu;

/** For texts that a user approves: what is executed is what is shown. */
export const withoutHidden = (text: string): string =>
  text.replace(HIDDEN, (character) => {
    const code = (character.codePointAt(0) ?? 0).toString(16).padStart(4, '0');
    return code.length > 4 ? `\\u{${code}}` : `\\u${code}`;
  });

export function relativeTime(at: number, now: number): string {
  const distance = at - now;
  const [unit, size] = UNITS.find(([, ms]) => Math.abs(distance) >= ms) ?? ['second', 1000];
  return RELATIVE.format(Math.round(distance / size), unit);
}

export const absoluteTime = (at: string): string => ABSOLUTE.format(new Date(at));

/** `1 h 2 min`, `3.4 s`. */
export function duration(ms: number): string {
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

export function bytes(count: number): string {
  if (count < 1024) return `${count} B`;
  const units = ['KiB', 'MiB', 'GiB'];
  let value = count / 1024;
  let unit = 0;
  for (; value >= 1024 && unit < units.length - 1; unit += 1) value /= 1024;
  return `${value.toFixed(value < 10 ? 1 : 0)} ${units[unit] ?? ''}`;
}

/** The value of a control for a local time, as ISO in UTC. What is no time stays, and the API rejects it. */
export function toIso(text: string): string {
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? text : time.toISOString();
}

/** A time of the URL as the value of a control for a local time. */
export function toLocalInput(text: string): string {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) return '';
  const local = new Date(time.getTime() - time.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, local.getUTCSeconds() === 0 ? 16 : 19);
}
