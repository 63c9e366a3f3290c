import { isSecretName } from '#platform/kernel';
import type { Assignment } from '#execution/runner-protocol';
import type { LogFields, RunnerLog } from '../runner-log.js';
import { beginningAtEnd, endAtBeginning, longestFirst, MIN_PART, REDACTED, WrappedNeedles } from './needles.js';

/** Shorter values occur by chance. */
const MIN_LENGTH = 6;
export { REDACTED };

/**
 * Removes secret values from everything that leaves the runner: as they are, line by line, and encoded (base64 and
 * hexadecimal, also wrapped and spaced; URL and JSON encoding). It protects against accidents only: an agent can encode a
 * secret in other ways.
 */
export class Redactor {
  private readonly needles: readonly string[];
  private readonly byteNeedles: readonly string[];
  private readonly wrapped: WrappedNeedles;

  constructor(secrets: Iterable<string>) {
    const values = [...new Set([...secrets].flatMap(valuesOf))];
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
  heldBack(text: string): number {
    const plain = this.needles.reduce((most, needle) => Math.max(most, beginningAtEnd(text, needle, 1)), 0);
    return Math.max(plain, this.wrapped.beginningAtEnd(text, 1));
  }

  private withoutParts(text: string): string {
    const plainEnd = this.needles.reduce((most, needle) => Math.max(most, beginningAtEnd(text, needle, MIN_PART)), 0);
    const atEnd = Math.max(plainEnd, this.wrapped.beginningAtEnd(text, MIN_PART));
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
