import { accessSync, constants } from 'node:fs';
import { isIP } from 'node:net';
import { isAbsolute, normalize, resolve } from 'node:path';
import { parseDuration } from '#platform/kernel';

/** How a setting is read from text. `parse` throws an Error whose message completes "NAME …". */
export interface SettingKind<T> {
  /** What the text has to look like, with its unit. */
  readonly shape: string;
  /** As it would be written in the environment; empty means "unset". */
  readonly defaultText: string;
  /** What `.env.example` shows instead of the default, where that differs from machine to machine. */
  readonly exampleText?: string;
  parse(value: string): T;
}

const kind = <T>(shape: string, defaultText: string, parse: (value: string) => T): SettingKind<T> => ({
  shape,
  defaultText,
  parse,
});

export const text = (fallback: string): SettingKind<string> => kind('text', fallback, (value) => value);

export const path = (fallback: string): SettingKind<string> => kind('path', fallback, (value) => resolve(value));

/** A path, or the empty text when unset. */
export const optionalPath = (): SettingKind<string> =>
  kind('path', '', (value) => (value === '' ? '' : resolve(value)));

/** A file that can be read now, or the empty text when unset. */
export const optionalFile = (): SettingKind<string> =>
  kind('path of a file', '', (value) => {
    if (value === '') return '';
    const file = resolve(value);
    try {
      accessSync(file, constants.R_OK);
    } catch {
      throw new Error('must name a file that can be read');
    }
    return file;
  });

/** What a listener binds: an address, or a name of this machine. */
export const host = (fallback: string): SettingKind<string> =>
  kind('IP address or host name', fallback, (value) => {
    if (isIP(value) === 0 && !/^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(value)) {
      throw new Error('must be an IP address or a host name, without scheme and port');
    }
    return value;
  });

export const integer = (fallback: number, min: number, max: number): SettingKind<number> =>
  kind(`whole number, ${min} to ${max}`, String(fallback), (value) => {
    const number = Number(value);
    if (!/^\d+$/.test(value) || number < min || number > max) {
      throw new Error(`must be a whole number from ${min} to ${max}`);
    }
    return number;
  });

/** Undefined when unset: the default depends on other settings. */
export const optionalInteger = (min: number, max: number): SettingKind<number | undefined> =>
  kind(integer(min, min, max).shape, '', (value) => (value === '' ? undefined : integer(min, min, max).parse(value)));

/** A default that depends on the machine stays out of the generated `.env.example`. */
export const machineDependent = <T>(setting: SettingKind<T>): SettingKind<T> => ({ ...setting, exampleText: '' });

/** A number that need not be whole. */
export const decimal = (fallback: number, min: number, max: number): SettingKind<number> =>
  kind(`number, ${min} to ${max}`, String(fallback), (value) => {
    const number = Number(value);
    if (!/^\d+(\.\d+)?$/.test(value) || number < min || number > max)
      throw new Error(`must be a number from ${min} to ${max}`);
    return number;
  });

/** A port that is not opened without the setting. */
export const optionalPort = (): SettingKind<number | undefined> =>
  kind('whole number, 0 to 65535', '', (value) => (value === '' ? undefined : port(0).parse(value)));

export const port = (fallback: number): SettingKind<number> => integer(fallback, 0, 65_535);

export const boolean = (fallback: boolean): SettingKind<boolean> =>
  kind('true or false', String(fallback), (value) => {
    if (value === 'true' || value === '1') return true;
    if (value === 'false' || value === '0') return false;
    throw new Error('must be true or false');
  });

/** Addresses and CIDR ranges, and the names that Express knows for ranges. */
export const addressRanges = (): SettingKind<readonly string[]> =>
  kind('comma-separated list of IP addresses, CIDR ranges, loopback, linklocal, uniquelocal', '', (value) => {
    const items = value
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '');
    if (!items.every(isAddressRange)) throw new Error('must list IP addresses or CIDR ranges such as 10.0.0.0/8');
    return items;
  });

function isAddressRange(item: string): boolean {
  if (['loopback', 'linklocal', 'uniquelocal'].includes(item)) return true;
  const [address = '', prefix, ...rest] = item.split('/');
  const bits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  return rest.length === 0 && bits > 0 && (prefix === undefined || (/^\d+$/.test(prefix) && Number(prefix) <= bits));
}

export const literal = <const T extends string>(fallback: T, allowed: readonly T[]): SettingKind<T> =>
  kind(`one of ${allowed.join(', ')}`, fallback, (value) => {
    const match = allowed.find((item) => item === value);
    if (match === undefined) throw new Error(`must be one of ${allowed.join(', ')}`);
    return match;
  });

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

/** Where others reach us: an http or https URL that paths can be appended to, or undefined when unset. */
export const publicOrigin = (): SettingKind<string | undefined> => {
  const url = optionalUrl(['http:', 'https:']);
  return kind(url.shape, '', (value) => {
    const parsed = url.parse(value);
    if (parsed === undefined) return undefined;
    const { search, hash, username, password } = new URL(parsed);
    if (search + hash + username + password !== '') throw new Error('must have no query, fragment, user or password');
    return parsed;
  });
};

/** A socket of this machine, or a host and port. */
export type EngineAddress =
  | { readonly kind: 'socket'; readonly path: string }
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number };

/** Where a container engine listens, the way its own tools write it. */
export const engineAddress = (fallback: string): SettingKind<EngineAddress> =>
  kind('unix:///path or tcp://host:port', fallback, (value) => {
    const [, path] = /^unix:\/\/(\/.+)$/.exec(value) ?? [];
    if (path !== undefined) return { kind: 'socket', path };
    if (!/^tcp:\/\/[^/@]+:\d+\/?$/.test(value) || !URL.canParse(value))
      throw new Error('must be unix:///path of a socket, or tcp://host:port');
    const { hostname, port } = new URL(value);
    return { kind: 'tcp', host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) };
  });

/** The network of containers: `bridge`, or one that was made for them. */
export const containerNetwork = (fallback: string): SettingKind<string> =>
  kind('name of a network', fallback, (value) => {
    if (value === 'none') throw new Error('cannot be none: a runner calls the API back');
    if (value === 'host' || value.startsWith('container:'))
      throw new Error('cannot be shared with the machine or another container: agents would reach what listens there');
    if (!/^[A-Za-z0-9][A-Za-z0-9_.-]*$/.test(value)) throw new Error('must be bridge, or the name of a network');
    return value;
  });

/** Where `/owner/repository.git` can be put behind: a URL without a password, or an absolute path. */
export const repositoryBase = (fallback: string): SettingKind<string> =>
  kind('https://, http://, ssh:// or file:// URL, or absolute path', fallback, (value) => {
    const base = value.replace(/\/+$/, '');
    if (isAbsolute(base)) return base;
    if (!/^(https?|ssh|file):\/\//i.test(base) || !URL.canParse(base))
      throw new Error('must be a URL that starts with https://, http://, ssh:// or file://, or an absolute path');
    const { search, hash, password } = new URL(base);
    if (search + hash + password !== '') throw new Error('must have no query, fragment or password');
    return base;
  });

/** Absolute paths; those that are not there are no mistake yet. */
export const directories = (): SettingKind<readonly string[]> =>
  kind('comma-separated absolute paths', '', (value) => {
    const paths = value
      .split(',')
      .map((path) => path.trim())
      .filter((path) => path !== '')
      .map((path) => (path === '/' ? path : path.replace(/\/+$/, '')));
    if (paths.some((path) => !isAbsolute(path) || normalize(path) !== path || path === '/'))
      throw new Error('must list absolute paths without . and .. in them, and not the root');
    return paths;
  });

export const secretKey = (): SettingKind<string | undefined> =>
  kind('text of at least 32 characters', '', (value) => {
    if (value === '') return undefined;
    if (value.length < 32) throw new Error('must have at least 32 characters');
    return value;
  });

/** Several {@link secretKey}s, none of which can hold a comma. */
export const secretKeys = (): SettingKind<readonly string[]> =>
  kind('comma-separated texts of at least 32 characters each', '', (value) => {
    const keys = value
      .split(',')
      .map((key) => key.trim())
      .filter((key) => key !== '');
    if (keys.some((key) => key.length < 32)) throw new Error('must have at least 32 characters in each of its keys');
    return keys;
  });

/** A bucket of an object store, and what stands before every key in it: segments joined by `/`, or nothing. */
export interface BucketLocation {
  readonly bucket: string;
  readonly prefix: string;
}

/** `s3://bucket` or `s3://bucket/some/prefix`, or undefined when unset. */
export const optionalBucket = (): SettingKind<BucketLocation | undefined> =>
  kind('s3://bucket or s3://bucket/prefix', '', (value) => {
    if (value === '') return undefined;
    const match = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:\/[A-Za-z0-9._-]{1,200}){0,8})\/?$/.exec(value);
    const [, bucket = '', path = ''] = match ?? [];
    if (!match || /(^|\/)\.{1,2}(\/|$)/.test(path)) {
      throw new Error('must be s3://bucket or s3://bucket/prefix, the prefix made of letters, digits, ., _ and -');
    }
    return { bucket, prefix: path.slice(1) };
  });

/** Text that is never shown, or undefined when unset. */
export const optionalSecret = (): SettingKind<string | undefined> =>
  kind('text', '', (value) => (value === '' ? undefined : value));

/** How long something is kept, in milliseconds; undefined (unset, or 0) is for ever. */
export const retention = (): SettingKind<number | undefined> => {
  const period = duration('', '1h', '36500d');
  return kind('duration in h or d, from 1h on; 0 keeps for ever', '', (value) =>
    value === '' || value === '0' ? undefined : period.parse(value),
  );
};
