import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { unzipSync } from 'node:zlib';
import { descendants } from './installation.js';

/** Bytes with the name of the place where they are. */
export interface Place {
  readonly name: string;
  readonly content: Buffer;
}

const HEADS = [0, 1, 2];
const GZIP = Buffer.from([0x1f, 0x8b]);
const ZLIB = 0x78;
const LINE_END = 0x0a;
/** By which forms are found. */
const START_BYTES = 2;
/** Bits of one character of base64. */
const CHARACTER_BITS = 6;

/**
 * The secret as it is, and as it can be in URLs and in base64, in which it may be a part of something else, such as `user:token`.
 * That has other characters at its ends, for each of the three positions at which the secret can begin.
 */
export function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret, 'latin1');
  const inBase64 = HEADS.flatMap((head) => {
    const content = Buffer.concat([Buffer.alloc(head), bytes]);
    const [from, to] = [Math.ceil((head * 8) / CHARACTER_BITS), Math.floor((content.length * 8) / CHARACTER_BITS)];
    return (['base64', 'base64url'] as const).map((encoding) => content.toString(encoding).slice(from, to));
  });
  return [...new Set([secret, encodeURIComponent(secret), bytes.toString('hex'), ...inBase64])];
}

/** The lines of a private key between its header and its footer. */
export const linesOf = (pem: string): string[] =>
  pem.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('-----'));

/** Names of the places that contain one of the secrets in one of its forms. */
export function placesWith(secrets: readonly string[], places: Iterable<Place>): string[] {
  const contains = searchFor(secrets.flatMap(formsOf));
  return [...places].filter(({ content }) => contains(content)).map(({ name }) => name);
}

/** In one pass: there are hundreds of forms of the lines of keys. */
function searchFor(forms: readonly string[]): (content: Buffer) => boolean {
  const byStart = new Map<number, Buffer[]>();
  for (const form of forms.map((text) => Buffer.from(text, 'latin1'))) {
    const start = form.readUIntBE(0, START_BYTES);
    byStart.set(start, [...(byStart.get(start) ?? []), form]);
  }
  const isStart = new Uint8Array(1 << (8 * START_BYTES));
  for (const start of byStart.keys()) isStart[start] = 1;
  return (content) => {
    let last = 0;
    for (let index = 0; index < content.length; index += 1) {
      last = ((last << 8) | (content[index] ?? 0)) & (isStart.length - 1);
      if (isStart[last] === 0) continue;
      const from = index + 1 - START_BYTES;
      if (byStart.get(last)?.some((form) => content.subarray(from, from + form.length).equals(form)) === true)
        return true;
    }
    return false;
  };
}

/** All files; links are not followed. What is compressed is there a second time. What has been removed in the meantime is not. */
export function* filesBelow(directory: string, except: readonly string[] = []): Generator<Place> {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const name = join(directory, entry.name);
    if (except.includes(name)) continue;
    if (entry.isDirectory()) yield* unlessRemoved(() => filesBelow(name, except));
    else if (entry.isFile())
      for (const content of unlessRemoved(() => [readFileSync(name)])) {
        const place = { name, content };
        yield* [place, ...unpacked(place)];
      }
  }
}

/** Arguments and variables of all processes below this one. */
export function processesBelow(pid: number): Place[] {
  return descendants(pid).flatMap((found) =>
    ['cmdline', 'environ'].flatMap((part) => {
      const name = `/proc/${found.pid}/${part}`;
      return [...unlessRemoved(() => [{ name: `${name} ${found.argv.join(' ')}`, content: readFileSync(name) }])];
    }),
  );
}

/** What gzip or zlib has compressed, as git does; an object of Headrace begins with a line of JSON. */
export function unpacked({ name, content }: Place): Place[] {
  const starts = [content, content.subarray(content.indexOf(LINE_END) + 1)];
  for (const bytes of starts.filter(isCompressed))
    try {
      return [{ name: `${name} (unpacked)`, content: unzipSync(bytes) }];
    } catch {
      continue; // It only begins like that.
    }
  return [];
}

const isCompressed = (bytes: Buffer): boolean => bytes[0] === ZLIB || bytes.indexOf(GZIP) === 0;

function* unlessRemoved<T>(read: () => Iterable<T>): Generator<T> {
  try {
    yield* read();
  } catch (error) {
    if (!['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}
