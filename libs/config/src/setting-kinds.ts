import { resolve } from 'node:path';

/** How a setting is read from text. `parse` throws an Error whose message completes "NAME …". */
export interface SettingKind<T> {
  /** What the text has to look like, with its unit. */
  readonly shape: string;
  /** As it would be written in the environment; empty means "unset". */
  readonly defaultText: string;
  parse(value: string): T;
}

const kind = <T>(shape: string, defaultText: string, parse: (value: string) => T): SettingKind<T> => ({ shape, defaultText, parse });

export const text = (fallback: string): SettingKind<string> => kind('text', fallback, (value) => value);

export const path = (fallback: string): SettingKind<string> => kind('path', fallback, (value) => resolve(value));

export const integer = (fallback: number, min: number, max: number): SettingKind<number> =>
  kind(`whole number, ${min} to ${max}`, String(fallback), (value) => {
    const number = Number(value);
    if (!/^\d+$/.test(value) || number < min || number > max) {
      throw new Error(`must be a whole number from ${min} to ${max}`);
    }
    return number;
  });

export const port = (fallback: number): SettingKind<number> => integer(fallback, 0, 65_535);

export const boolean = (fallback: boolean): SettingKind<boolean> =>
  kind('true or false', String(fallback), (value) => {
    if (value === 'true' || value === '1') return true;
    if (value === 'false' || value === '0') return false;
    throw new Error('must be true or false');
  });

export const list = (): SettingKind<readonly string[]> =>
  kind('comma-separated list', '', (value) =>
    value
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== ''),
  );

export const literal = <const T extends string>(fallback: T, allowed: readonly T[]): SettingKind<T> =>
  kind(`one of ${allowed.join(', ')}`, fallback, (value) => {
    const match = allowed.find((item) => item === value);
    if (match === undefined) throw new Error(`must be one of ${allowed.join(', ')}`);
    return match;
  });

const UNITS = { ms: 1, s: 1000, min: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Milliseconds of a duration such as `250ms`, `90s`, `10min`, `24h`, `7d`; null when it is none. */
export function parseDuration(value: string): number | null {
  const match = /^(\d+(?:\.\d+)?)(ms|s|min|h|d)$/.exec(value);
  if (!match) return null;
  return Math.round(Number(match[1]) * UNITS[match[2] as keyof typeof UNITS]);
}

export const duration = (fallback: string, min: string, max: string): SettingKind<number> => {
  const [low, high] = [parseDuration(min) ?? 0, parseDuration(max) ?? 0];
  return kind(`duration in ms, s, min, h or d; ${min} to ${max}`, fallback, (value) => {
    const parsed = parseDuration(value);
    if (parsed === null) throw new Error('must be a number with a unit, such as 250ms, 90s, 10min or 24h');
    if (parsed < low || parsed > high) throw new Error(`must lie between ${min} and ${max}`);
    return parsed;
  });
};

/** An absolute URL of one of the protocols, or undefined when unset. The value is never repeated in the message: it may hold a password. */
export const optionalUrl = (protocols: readonly string[]): SettingKind<string | undefined> =>
  kind(`URL (${protocols.join(' ')})`, '', (value) => {
    if (value === '') return undefined;
    if (!URL.canParse(value) || !protocols.includes(new URL(value).protocol)) {
      throw new Error(`must be a URL that starts with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`);
    }
    return value.replace(/\/+$/, '');
  });

export const secretKey = (): SettingKind<string | undefined> =>
  kind('text of at least 32 characters', '', (value) => {
    if (value === '') return undefined;
    if (value.length < 32) throw new Error('must have at least 32 characters');
    return value;
  });
