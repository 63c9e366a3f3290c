import { accessSync, constants } from 'node:fs';
import { isIP } from 'node:net';
import { isAbsolute, normalize, resolve } from 'node:path';
import { parseDuration, parseUrl } from '#platform/kernel';

/** The format of a setting. `parse` throws an Error whose message continues the name of the setting. */
export class SettingKind<T> {
  constructor(
    /** Format and unit of the text. */
    readonly shape: string,
    /** The default as text; empty means "unset". */
    readonly defaultText: string,
    readonly parse: (value: string) => T,
    /** Shown in `.env.example`, instead of a default that depends on the machine. */
    readonly exampleText = defaultText,
  ) {}

  /** `env`: the name of its variable, by default that of the field: `LEASE_TTL` for `leaseTtl`. */
  describe(description: string, env?: string): DescribedKind<T> {
    return { kind: this, description, env };
  }
}

interface DescribedKind<T> {
  readonly kind: SettingKind<T>;
  readonly description: string;
  readonly env: string | undefined;
}

type ServerProcess = 'API' | 'ingress' | 'processor';

export const EVERY_PROCESS: readonly ServerProcess[] = ['API', 'ingress', 'processor'];

/**
 * A setting of the environment: `env` is the name of its variable, `group` the section of `.env.example`, `processes` those that
 * use settings of the group.
 */
export interface SettingDefinition<T> extends DescribedKind<T> {
  readonly env: string;
  readonly group: string;
  readonly processes: readonly ServerProcess[];
}

export function settingGroup<V extends Readonly<Record<string, unknown>>>(
  group: string,
  processes: readonly ServerProcess[],
  settings: { readonly [K in keyof V]: DescribedKind<V[K]> },
): { readonly [K in keyof V]: SettingDefinition<V[K]> } {
  const definitions = Object.entries<DescribedKind<unknown>>(settings).map(([field, definition]) => {
    const env = definition.env ?? field.replaceAll(/[A-Z]/g, '_$&').toUpperCase();
    return [field, { ...definition, env, group, processes }] as const;
  });
  return Object.fromEntries(definitions) as { readonly [K in keyof V]: SettingDefinition<V[K]> };
}

const kind = <T>(shape: string, defaultText: string, parse: (value: string) => T): SettingKind<T> =>
  new SettingKind(shape, defaultText, parse);

export const text = (fallback: string): SettingKind<string> => kind('text', fallback, (value) => value);

export const path = (fallback: string): SettingKind<string> => kind('path', fallback, (value) => resolve(value));

/** A path, or the empty text when unset. */
export const optionalPath = (): SettingKind<string> => kind('path', '', (value) => value && resolve(value));

/** A readable file, or the empty text when unset. */
export const optionalFile = (): SettingKind<string> =>
  kind('path of a file', '', (value) => {
    const file = value && resolve(value);
    try {
      if (file !== '') accessSync(file, constants.R_OK);
      return file;
    } catch {
      // Without the value: somebody may have entered the secret itself.
      const origin = isAbsolute(value) ? '' : `; a relative path begins at ${process.cwd()}`;
      throw new Error(`must be the path of a readable file${origin}`);
    }
  });

/** Undefined when the variable is unset. */
const optional = <T>({ shape, parse }: SettingKind<T>): SettingKind<T | undefined> =>
  kind(shape, '', (value) => (value === '' ? undefined : parse(value)));

export const host = (fallback: string): SettingKind<string> =>
  kind('IP address or host name', fallback, (value) => {
    if (isIP(value) === 0 && !/^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(value)) {
      throw new Error('must be an IP address or a host name, without scheme and port');
    }
    return value;
  });

export const integer = (fallback: number, min: number, max: number): SettingKind<number> =>
  kind(`integer, ${min} to ${max}`, String(fallback), (value) => {
    const number = Number(value);
    if (!/^\d+$/.test(value) || number < min || number > max) {
      throw new Error(`must be an integer between ${min} and ${max}`);
    }
    return number;
  });

/** Undefined when unset, because the default depends on other settings. */
export const optionalInteger = (min: number, max: number): SettingKind<number | undefined> =>
  optional(integer(min, min, max));

/** Keeps a default that depends on the machine out of the generated `.env.example`. */
export const machineDependent = <T>({ shape, defaultText, parse }: SettingKind<T>): SettingKind<T> =>
  new SettingKind(shape, defaultText, parse, '');

export const decimal = (fallback: number, min: number, max: number): SettingKind<number> =>
  kind(`number, ${min} to ${max}`, String(fallback), (value) => {
    const number = Number(value);
    if (!/^\d+(\.\d+)?$/.test(value) || number < min || number > max)
      throw new Error(`must be a number between ${min} and ${max}`);
    return number;
  });

/** The port of a listener that does not exist when the setting is unset. */
export const optionalPort = (): SettingKind<number | undefined> => optional(port(0));

export const port = (fallback: number): SettingKind<number> => integer(fallback, 0, 65_535);

export const boolean = (fallback: boolean): SettingKind<boolean> =>
  kind('true or false', String(fallback), (value) => {
    if (value === 'true' || value === '1') return true;
    if (value === 'false' || value === '0') return false;
    throw new Error('must be true or false');
  });

const itemsOf = (value: string): string[] =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');

/** A value for each of some names; none when unset. */
export const named = <const V extends string>(
  shape: string,
  values: readonly V[],
): SettingKind<ReadonlyMap<string, V>> =>
  kind(shape, '', (value) => {
    const pairs = itemsOf(value).map((item) => item.split('=').map((part) => part.trim()));
    const isPair = (pair: string[]): pair is [string, V] =>
      pair.length === 2 && pair[0] !== '' && (values as readonly (string | undefined)[]).includes(pair[1]);
    if (!pairs.every(isPair)) throw new Error(`must be NAME=VALUE, with one of the values ${values.join(', ')}`);
    return new Map(pairs);
  });

/** Texts without a comma; none when unset. */
export const list = (shape: string): SettingKind<readonly string[]> => kind(shape, '', itemsOf);

/** Texts by name, as in the variables of OpenTelemetry. The message never repeats a value, which may be a secret. */
export const namedTexts = (): SettingKind<ReadonlyMap<string, string>> =>
  kind('comma-separated list of NAME=VALUE', '', (value) => {
    const pairs = itemsOf(value).map((item): [string, string] => {
      const [, name, text] = /^([^=\s]+)\s*=\s*([^]*)$/.exec(item) ?? [];
      if (name === undefined || text === undefined) throw new Error('must be NAME=VALUE, separated by commas');
      return [name, percentDecoded(text)];
    });
    return new Map(pairs);
  });

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error('must have percent-encoded values: % is written as %25');
  }
}

/** Addresses, CIDR ranges, and the names of ranges that Express knows. */
export const addressRanges = (): SettingKind<readonly string[]> =>
  kind('comma-separated list of IP addresses, CIDR ranges, loopback, linklocal, uniquelocal', '', (value) => {
    const items = itemsOf(value);
    if (!items.every(isAddressRange)) throw new Error('must be IP addresses or CIDR ranges such as 10.0.0.0/8');
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
    if (parsed < low || parsed > high) throw new Error(`must be between ${min} and ${max}`);
    return parsed;
  });
};

/** An absolute URL of one of the protocols. The message never repeats the value, which may contain a password. */
const url = (protocols: readonly string[]): SettingKind<string> =>
  kind(`URL (${protocols.join(' ')})`, '', (value) => {
    if (!protocols.includes(parseUrl(value)?.protocol ?? '')) {
      throw new Error(`must be a URL that starts with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`);
    }
    return value.replace(/\/+$/, '');
  });

export const optionalUrl = (protocols: readonly string[]): SettingKind<string | undefined> => optional(url(protocols));

/** An http or https URL to which paths can be appended, or undefined when unset. */
export const publicOrigin = (): SettingKind<string | undefined> => {
  const { shape, parse } = url(['http:', 'https:']);
  const origin = kind(shape, '', (value) => {
    const parsed = parse(value);
    const { search, hash, username, password } = new URL(parsed);
    if (search + hash + username + password !== '')
      throw new Error('must not contain a query, fragment, user or password');
    return parsed;
  });
  return optional(origin);
};

export type EngineAddress =
  | { readonly kind: 'socket'; readonly path: string }
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number };

/** Address of a container engine, in the notation of `DOCKER_HOST`. */
export const engineAddress = (fallback: string): SettingKind<EngineAddress> =>
  kind('unix:///path or tcp://host:port', fallback, (value) => {
    const [, path] = /^unix:\/\/(\/.+)$/.exec(value) ?? [];
    if (path !== undefined) return { kind: 'socket', path };
    const parsed = /^tcp:\/\/[^/@]+:\d+\/?$/.test(value) ? parseUrl(value) : null;
    if (parsed === null) throw new Error('must be unix:///path of a socket, or tcp://host:port');
    const { hostname, port } = parsed;
    return { kind: 'tcp', host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) };
  });

/** Network of containers: `bridge`, or a user-defined one. */
export const containerNetwork = (fallback: string): SettingKind<string> =>
  kind('name of a network', fallback, (value) => {
    if (value === 'none') throw new Error('must not be none: the runner calls the API');
    if (value === 'host' || value.startsWith('container:'))
      throw new Error(
        'must not be the network of the machine or of another container: agents would reach the services there',
      );
    if (!/^[A-Za-z0-9][A-Za-z0-9_.-]*$/.test(value)) throw new Error('must be bridge or the name of a network');
    return value;
  });

/** Prefix of `/owner/repository.git`: a URL without a password, or an absolute path. */
export const repositoryBase = (fallback: string): SettingKind<string> =>
  kind('https://, http://, ssh:// or file:// URL, or absolute path', fallback, (value) => {
    const base = value.replace(/\/+$/, '');
    if (isAbsolute(base)) return base;
    const parsed = /^(https?|ssh|file):\/\//i.test(base) ? parseUrl(base) : null;
    if (parsed === null)
      throw new Error('must be a URL that starts with https://, http://, ssh:// or file://, or an absolute path');
    const { search, hash, password } = parsed;
    if (search + hash + password !== '') throw new Error('must not contain a query, fragment or password');
    return base;
  });

/** Absolute paths, which do not have to exist yet. */
export const directories = (): SettingKind<readonly string[]> =>
  kind('comma-separated absolute paths', '', (value) => {
    const paths = itemsOf(value).map((path) => (path === '/' ? path : path.replace(/\/+$/, '')));
    if (paths.some((path) => !isAbsolute(path) || normalize(path) !== path || path === '/'))
      throw new Error('must be absolute paths without . and .. segments, other than the root');
    return paths;
  });

const MIN_KEY_LENGTH = 32;

export const secretKey = (): SettingKind<string | undefined> =>
  kind('text of at least 32 characters', '', (value) => {
    if (value !== '' && value.length < MIN_KEY_LENGTH) throw new Error('must have at least 32 characters');
    return value || undefined;
  });

export const secretKeys = (): SettingKind<readonly string[]> =>
  kind('comma-separated texts of at least 32 characters each', '', (value) => {
    const keys = itemsOf(value);
    if (keys.some((key) => key.length < MIN_KEY_LENGTH))
      throw new Error('must have at least 32 characters in each key');
    return keys;
  });

/** A bucket of an object store, and the prefix of every key: segments joined by `/`, or empty. */
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
      throw new Error('must be s3://bucket or s3://bucket/prefix; the prefix may contain letters, digits, ., _ and -');
    }
    return { bucket, prefix: path.slice(1) };
  });

export const optionalText = (): SettingKind<string | undefined> => optional(text(''));

export const optionalEmail = (): SettingKind<string | undefined> =>
  optional(
    kind('e-mail address', '', (value) => {
      if (!/^[^\s<>@]+@[^\s<>@]+$/.test(value)) throw new Error('must be an e-mail address');
      return value;
    }),
  );

export const optionalSecret = (): SettingKind<string | undefined> => optional(text(''));

/** Retention time in milliseconds; undefined (unset, or 0) means forever. */
export const retention = (): SettingKind<number | undefined> => {
  const period = duration('', '1h', '36500d');
  return kind('duration in h or d, at least 1h; 0 keeps forever', '', (value) =>
    value === '' || value === '0' ? undefined : period.parse(value),
  );
};

const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Whether nobody on the way can read or change what is sent to the URL. */
export const isConfidential = ({ protocol, hostname }: URL): boolean =>
  protocol === 'https:' || (protocol === 'http:' && LOOPBACK_HOSTS.has(hostname));

/** The URL as it is written: a slash at its end is part of the name of an issuer. */
export const openIdIssuer = (): SettingKind<string | undefined> =>
  kind('https URL; http for loopback only', '', (value) => {
    if (value === '') return undefined;
    const parsed = parseUrl(value);
    if (parsed === null || !isConfidential(parsed))
      throw new Error('must be an https URL, or an http URL of localhost, 127.0.0.1 or [::1]');
    const { search, hash, username, password } = parsed;
    if (search + hash + username + password !== '')
      throw new Error('must not contain a query, fragment, user or password');
    return value;
  });

const TEAM_ROLES = ['owner', 'admin', 'member', 'viewer'] as const;

/** The role that members of a group of the OpenID provider have on a team. */
export interface GroupRole {
  readonly group: string;
  readonly team: string;
  readonly role: (typeof TEAM_ROLES)[number];
}

/** Names of groups may contain any character, so the setting is JSON. */
export const groupRoles = (): SettingKind<readonly GroupRole[]> =>
  kind('JSON: [{"group":"engineers","team":"<uid>","role":"member"}]', '', (value) => {
    if (value === '') return [];
    const entries = parseJson(value);
    if (!Array.isArray(entries)) throw new Error('must be a JSON array of objects with group, team and role');
    return entries.map((entry: unknown, index) => readGroupRole(entry, `entry ${index + 1}`));
  });

function parseJson(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    throw new Error('must be valid JSON, such as [{"group":"engineers","team":"<uid>","role":"member"}]');
  }
}

function readGroupRole(entry: unknown, name: string): GroupRole {
  const given: Record<string, unknown> = typeof entry === 'object' && entry !== null ? { ...entry } : {};
  const { group, team, role, ...others } = given;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw new Error(`${name} must have only group, team and role`);
  if (typeof group !== 'string' || group === '') throw new Error(`${name} must have a group, a text that is not empty`);
  if (typeof team !== 'string' || !/^[A-Za-z0-9]{22}$/.test(team))
    throw new Error(`${name} must have a team, a UID of 22 letters and digits`);
  const known = TEAM_ROLES.find((one) => one === role);
  if (known === undefined) throw new Error(`${name} must have a role, one of ${TEAM_ROLES.join(', ')}`);
  return { group, team, role: known };
}
