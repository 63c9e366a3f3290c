/** Shorter values would be found everywhere. */
const MIN_LENGTH = 6;
/** How much of a value must stand at a cut end of a text to be taken for a part of it. */
const MIN_PART = 8;
export const REDACTED = '***';

/**
 * Takes secret values out of what leaves the runner: as they are, line by line, and as programs like to write them
 * (base64, URL and JSON encoding). A net for output, not a wall: whoever has a secret can write it in other ways.
 */
export class Redactor {
  private readonly needles: readonly string[];
  private readonly byteNeedles: readonly string[];

  constructor(secrets: Iterable<string>) {
    const forms = new Set([...secrets].flatMap(formsOf).filter((form) => form.length >= MIN_LENGTH));
    // The longest first: one may be a part of another.
    this.needles = [...forms].sort((a, b) => b.length - a.length);
    this.byteNeedles = this.needles.map((needle) => Buffer.from(needle, 'utf8').toString('latin1'));
  }

  get isIdle(): boolean {
    return this.needles.length === 0;
  }

  /** Also what is left of a value where the text was cut off. */
  text(text: string): string {
    return this.withoutParts(this.whole(text));
  }

  /** Without looking at the ends. */
  whole(text: string): string {
    return this.needles.reduce(
      (rest, needle) => (rest.includes(needle) ? rest.replaceAll(needle, REDACTED) : rest),
      text,
    );
  }

  /** Every string of a JSON value, keys too. */
  json(value: unknown): unknown {
    if (this.isIdle) return value;
    if (typeof value === 'string') return this.text(value);
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map((item) => this.json(item));
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [this.whole(key), this.json(item)]));
  }

  /** Of a file, whatever its encoding; the same bytes when there is nothing to take out. */
  bytes(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
    const rest = this.byteNeedles.reduce((left, needle) => left.replaceAll(needle, REDACTED), text);
    return rest === text ? bytes : new Uint8Array(Buffer.from(rest, 'latin1'));
  }

  /** How many characters at the end of a text may be the beginning of a value of which the rest is still to come. */
  heldBack(text: string): number {
    return this.needles.reduce((most, needle) => Math.max(most, beginningAtEnd(text, needle, 1)), 0);
  }

  private withoutParts(text: string): string {
    const atEnd = this.needles.reduce((most, needle) => Math.max(most, beginningAtEnd(text, needle, MIN_PART)), 0);
    const rest = atEnd === 0 ? text : text.slice(0, -atEnd) + REDACTED;
    const atStart = this.needles.reduce((most, needle) => Math.max(most, endAtBeginning(rest, needle)), 0);
    return atStart === 0 ? rest : REDACTED + rest.slice(atStart);
  }
}

/** Length of the longest real beginning of `needle` that `text` ends with, when it is at least `min`. */
function beginningAtEnd(text: string, needle: string, min: number): number {
  const start = needle.slice(0, min);
  let position = text.indexOf(start, Math.max(0, text.length - needle.length + 1));
  for (; position >= 0; position = text.indexOf(start, position + 1)) {
    if (needle.startsWith(text.slice(position))) return text.length - position;
  }
  return 0;
}

/** Length of the longest real end of `needle` that `text` begins with, when it is at least MIN_PART. */
function endAtBeginning(text: string, needle: string): number {
  const window = text.slice(0, needle.length - 1);
  const end = needle.slice(-MIN_PART);
  for (let position = window.lastIndexOf(end); position >= 0; position = window.lastIndexOf(end, position - 1)) {
    if (needle.endsWith(window.slice(0, position + end.length))) return position + end.length;
    if (position === 0) break;
  }
  return 0;
}

function formsOf(secret: string): string[] {
  const value = secret.trim();
  const lines = value.split(/\r?\n/).map((line) => line.trim());
  // `-----BEGIN PRIVATE KEY-----` is no secret, and everybody's.
  const own = [secret, value, ...lines.filter((line) => line.length >= 8 && !/^-+(BEGIN|END) /.test(line))];
  return [...new Set(own)].filter((form) => form.length >= MIN_LENGTH).flatMap((form) => [form, ...encodings(form)]);
}

function encodings(text: string): string[] {
  const bytes = Buffer.from(text, 'utf8');
  return [encodeURIComponent(text), JSON.stringify(text).slice(1, -1), bytes.toString('hex'), ...base64Forms(bytes)];
}

/** Wherever the value lies in what was encoded, such as behind a user name: the characters that depend on it alone. */
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
