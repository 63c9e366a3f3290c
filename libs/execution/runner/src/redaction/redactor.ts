import { isSecretName } from '#platform/kernel';
import type { Assignment } from '#execution/runner-protocol';
import type { LogFields, RunnerLog } from '../runner-log.js';

/** Shorter values occur by chance. */
const MIN_LENGTH = 6;

/**
 * Removes secret values from everything that leaves the runner: as they are, line by line, and encoded (base64 and
 * hexadecimal, also wrapped and spaced; URL and JSON encoding). It protects against accidents only: an agent can encode a
 * secret in other ways.
 */
export class Redactor {
  private readonly secrets = new Set<string>();
  private needles: readonly string[] = [];
  private byteNeedles: readonly string[] = [];
  private wrapped = new WrappedNeedles([]);

  constructor(secrets: Iterable<string>) {
    for (const secret of secrets) this.secrets.add(secret);
    this.prepare();
  }

  /** A value that was not known at the beginning. It is redacted in everything that is reported from now on. */
  add(secret: string): void {
    this.secrets.add(secret);
    this.prepare();
  }

  private prepare(): void {
    const values = [...new Set([...this.secrets].flatMap(valuesOf))];
    const digits = values.flatMap(digitForms);
    const forms = new Set([...values.flatMap(textForms), ...digits].filter((form) => form.length >= MIN_LENGTH));
    // The longest first: one may be a part of another.
    this.needles = [...forms].sort(longestFirst);
    this.wrapped = new WrappedNeedles(digits);
    this.byteNeedles = this.needles.map((needle) => Buffer.from(needle, 'utf8').toString('latin1'));
  }

  get isIdle(): boolean {
    return this.needles.length === 0;
  }

  /** Also redacts parts of a value at the ends of a truncated text. */
  text(text: string): string {
    return this.withoutParts(this.whole(text));
  }

  whole(text: string): string {
    const rest = this.needles.reduce(
      (left, needle) => (left.includes(needle) ? left.replaceAll(needle, REDACTED) : left),
      text,
    );
    return this.wrapped.replace(rest);
  }

  /** Every string of a JSON value, keys too. */
  json(value: unknown): unknown {
    if (this.isIdle) return value;
    if (typeof value === 'string') return this.text(value);
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map((item) => this.json(item));
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [this.whole(key), this.json(item)]));
  }

  /** Redacts a file of any encoding; returns the same bytes when there is nothing to redact. */
  bytes(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
    const rest = this.wrapped.replace(
      this.byteNeedles.reduce((left, needle) => left.replaceAll(needle, REDACTED), text),
    );
    return rest === text ? bytes : new Uint8Array(Buffer.from(rest, 'latin1'));
  }

  /** Number of characters at the end of a text that may be the beginning of a value. */
  heldBack(text: string, min = 1): number {
    const plain = this.needles.reduce((most, needle) => Math.max(most, beginningAtEnd(text, needle, min)), 0);
    return Math.max(plain, this.wrapped.beginningAtEnd(text, min));
  }

  private withoutParts(text: string): string {
    const atEnd = this.heldBack(text, MIN_PART);
    const rest = atEnd === 0 ? text : text.slice(0, -atEnd) + REDACTED;
    const plainStart = this.needles.reduce((most, needle) => Math.max(most, endAtBeginning(rest, needle)), 0);
    const atStart = Math.max(plainStart, this.wrapped.endAtBeginning(rest));
    return atStart === 0 ? rest : REDACTED + rest.slice(atStart);
  }
}

function valuesOf(secret: string): string[] {
  const value = secret.trim();
  const lines = value.split(/\r?\n/).map((line) => line.trim());
  // `-----BEGIN PRIVATE KEY-----` is not secret.
  const own = [secret, value, ...lines.filter((line) => line.length >= 8 && !/^-+(BEGIN|END) /.test(line))];
  return own.filter((form) => form.length >= MIN_LENGTH);
}

function textForms(text: string): string[] {
  const json = JSON.stringify(text).slice(1, -1);
  const url = encodeURIComponent(text);
  // RFC 3986 reserves more than `encodeURIComponent` encodes, and paths keep their slashes.
  const strict = url.replace(/[!'()*]/g, (character) => `%${hex(character.charCodeAt(0), 2).toUpperCase()}`);
  const urls = [url, strict, strict.replaceAll('%2F', '/')];
  return [
    text,
    ...urls,
    ...urls.map((form) => form.replace(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase())),
    ...[json, inAscii(json), inAscii(json, true)].flatMap((form) => [form, form.replaceAll('/', '\\/')]),
  ];
}

/** JSON whose strings hold ASCII only, as many programs write it. */
const inAscii = (json: string, upperCase = false): string =>
  json.replace(/[^\x00-\x7f]/g, (unit) => {
    const digits = hex(unit.charCodeAt(0), 4);
    return `\\u${upperCase ? digits.toUpperCase() : digits}`;
  });

const hex = (value: number, length: number): string => value.toString(16).padStart(length, '0');

function digitForms(text: string): string[] {
  const bytes = Buffer.from(text, 'utf8');
  const lower = bytes.toString('hex');
  return [lower, lower.toUpperCase(), ...base64Forms(bytes)];
}

/** At each alignment in an encoded text, such as behind a user name: the characters that depend on the value alone. */
function base64Forms(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((offset) => {
    const encoded = Buffer.concat([Buffer.alloc(offset), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    const from = Math.ceil((offset * 8) / 6);
    const to = Math.floor(((offset + bytes.length) * 8) / 6);
    const sure = encoded.slice(from, to);
    return [sure, sure.replaceAll('+', '-').replaceAll('/', '_')];
  });
}

/** Redacts all lines of a log: error texts may repeat secret values. */
export function redactingLog(log: RunnerLog, redactor: Redactor): RunnerLog {
  const through =
    (level: keyof RunnerLog) =>
    (message: string, fields: LogFields = {}): void =>
      log[level](redactor.text(message), redactor.json(fields) as LogFields);
  return { info: through('info'), warn: through('warn'), error: through('error') };
}

/** Shorter values of variables that are only named like a secret are ordinary words. */
const MIN_NAMED = 8;

/** All secret values of an assignment and of the harness, to be redacted from reports. */
export function secretValues(assignment: Assignment, harnessEnv: Readonly<Record<string, string>> = {}): string[] {
  const { secrets, agent_secrets: ofAgent, repositories, environment, mcp_servers: servers } = assignment;
  const named = [
    harnessEnv,
    environment?.env ?? {},
    ...Object.values(servers).flatMap(({ env = {}, headers = {} }) => [env, headers]),
  ].flatMap((record) => Object.entries(record));
  return [
    ...Object.values(secrets ?? {}),
    ...Object.values(ofAgent?.variables ?? {}),
    ...(ofAgent?.auth === undefined ? [] : [ofAgent.auth]),
    ...(repositories ?? []).flatMap(({ credential }) => (credential ? [credential.password] : [])),
    ...named
      .filter(([name, value]) => isSecretName(name) && value.length >= MIN_NAMED)
      .flatMap(([, value]) => [value, withoutScheme(value)]),
  ];
}

/** `Bearer abc` → `abc`. */
const withoutScheme = (value: string): string => value.replace(/^(?:Bearer|Basic|Token) +/i, '');

export const REDACTED = '***';
/** Minimum length of a part of a value at a truncated end of a text. */
export const MIN_PART = 8;

export const longestFirst = (a: string, b: string): number => b.length - a.length;

/** Length of the longest real beginning of `needle` that `text` ends with, when it is at least `min`. */
export function beginningAtEnd(text: string, needle: string, min: number): number {
  const start = needle.slice(0, min);
  let position = text.indexOf(start, Math.max(0, text.length - needle.length + 1));
  for (; position >= 0; position = text.indexOf(start, position + 1)) {
    if (needle.startsWith(text.slice(position))) return text.length - position;
  }
  return 0;
}

/** Length of the longest real end of `needle` that `text` begins with, when it is at least MIN_PART. */
export function endAtBeginning(text: string, needle: string): number {
  const window = text.slice(0, needle.length - 1);
  const end = needle.slice(-MIN_PART);
  for (let position = window.lastIndexOf(end); position >= 0; position = window.lastIndexOf(end, position - 1)) {
    if (needle.endsWith(window.slice(0, position + end.length))) return position + end.length;
    if (position === 0) break;
  }
  return 0;
}

/** Shorter needles occur by chance in ordinary text without its spaces. */
const MIN_WRAPPED = 12;
/** Separators between digits: line ends and indents, also escaped as in JSON, spaces and colons. */
const SEPARATOR = /[\s:]|\\[nrt]/g;
/** Characters per digit with its separators, such as `6f ` and occasional line ends. */
const SPREAD = 4;

/** Finds base64 and hexadecimal digits of values in a text, with separators between them. */
export class WrappedNeedles {
  private readonly needles: readonly string[];
  private readonly window: number;

  constructor(digits: readonly string[]) {
    this.needles = [...new Set(digits.filter((needle) => needle.length >= MIN_WRAPPED))].sort(longestFirst);
    this.window = (this.needles[0]?.length ?? 0) * SPREAD;
  }

  replace(text: string): string {
    return this.needles.length === 0 ? text : this.replaceIn(text);
  }

  /** Length of the end of `text` that may be the beginning of a needle of which at least `min` digits are there. */
  beginningAtEnd(text: string, min: number): number {
    if (this.needles.length === 0) return 0;
    const { digits, places } = withoutSeparators(text, Math.max(0, text.length - this.window));
    const found = this.needles.reduce((most, needle) => Math.max(most, beginningAtEnd(digits, needle, min)), 0);
    return found === 0 ? 0 : text.length - (places[digits.length - found] ?? text.length);
  }

  /** Length of the beginning of `text` that may be the end of a needle. */
  endAtBeginning(text: string): number {
    if (this.needles.length === 0) return 0;
    const { digits, places } = withoutSeparators(text.slice(0, this.window), 0);
    const found = this.needles.reduce((most, needle) => Math.max(most, endAtBeginning(digits, needle)), 0);
    return found === 0 ? 0 : (places[found - 1] ?? -1) + 1;
  }

  private replaceIn(text: string): string {
    const bare = text.replace(SEPARATOR, '');
    if (bare.length === text.length) return text;
    const needle = this.needles.find((one) => bare.includes(one));
    if (needle === undefined) return text;
    const { digits, places } = withoutSeparators(text, 0);
    let [rest, from] = ['', 0];
    for (let at = digits.indexOf(needle); at >= 0; at = digits.indexOf(needle, at + needle.length)) {
      rest += text.slice(from, places[at]) + REDACTED;
      from = (places[at + needle.length - 1] ?? 0) + 1;
    }
    return this.replaceIn(rest + text.slice(from));
  }
}

/** `places`: index of each remaining character in the text. */
function withoutSeparators(text: string, from: number): { digits: string; places: number[] } {
  const places: number[] = [];
  let digits = '';
  let at = from;
  const keep = (to: number): void => {
    digits += text.slice(at, to);
    for (let place = at; place < to; place += 1) places.push(place);
  };
  SEPARATOR.lastIndex = from;
  for (let found = SEPARATOR.exec(text); found; found = SEPARATOR.exec(text)) {
    keep(found.index);
    at = found.index + found[0].length;
  }
  keep(text.length);
  return { digits, places };
}
