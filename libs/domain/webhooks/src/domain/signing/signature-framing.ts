import type { IncomingRequest } from './incoming-request.js';
import { textAt } from './body-text.js';

/** The location of a value: a header (lower case), or keys from the root of the JSON body. */
export type Place = { readonly header: string } | { readonly path: readonly string[]; readonly asNumber?: boolean };

/** The locations of signature, time and id of a request. All of them must be present. */
export interface SignatureFraming {
  /**
   * `prefix`: the literal prefix of a signature, such as `sha256=`, `v1=`, `v1,`; items without it are ignored. `separator`:
   * the value is a list, of which one item must match. A separator that ends with a space is also read without it.
   */
  readonly signature: Place & { readonly prefix?: string; readonly separator?: string };
  /** `field`: an item in the list of the signature, by its prefix, such as `t=`. */
  readonly timestamp?: Place | { readonly field: string };
  readonly id?: Place;
}

export const withTimeHeader = (header: string, timeHeader: string, prefix = ''): SignatureFraming => ({
  signature: { header, prefix },
  timestamp: { header: timeHeader },
});

/** Signature and time in one header, as a list such as `t=1,v1=2`: `t=` is the field of the time. */
export const withTimeField = (header: string, separator: string, prefix: string, field: string): SignatureFraming => ({
  signature: { header, separator, prefix },
  timestamp: { field },
});

export interface FramedSignature {
  readonly candidates: readonly string[];
  readonly timestamp: string | null;
  readonly id: string | null;
}

/** Longer values and lists are rejected: no sender uses them, and their verification would be expensive. */
const MAX_VALUE_LENGTH = 4096;
const MAX_ITEMS = 32;
/** The characters of values that are unambiguous in a header. */
const PRINTABLE = /^[\x20-\x7e]+$/;

/**
 * Reads the first complete framing. Null when none is complete, or when a header of an earlier framing is also present:
 * headers of two framings are never mixed, because an unsigned header could then be used as a signed one.
 */
export function readFraming(request: IncomingRequest, framings: readonly SignatureFraming[]): FramedSignature | null {
  const skipped: string[] = [];
  for (const framing of framings) {
    const found = readOne(request, framing);
    if (found === null) {
      skipped.push(...framingHeaders(framing));
      continue;
    }
    if (skipped.length === 0) return found;
    const own = framingHeaders(framing);
    return skipped.some((name) => !own.includes(name) && request.headers.has(name)) ? null : found;
  }
  return null;
}

export function framingHeaders({ signature, timestamp, id }: SignatureFraming): readonly string[] {
  return [signature, timestamp, id].flatMap((place) => (place && 'header' in place ? [place.header] : []));
}

function readOne(request: IncomingRequest, { signature, timestamp, id }: SignatureFraming): FramedSignature | null {
  const value = readPlace(request, signature);
  const items = value === null ? null : itemsOf(value, signature.separator);
  if (items === null) return null;
  const candidates = itemsAfter(items, signature.prefix ?? '');
  if (candidates.length === 0) return null;

  const time =
    timestamp && ('field' in timestamp ? only(itemsAfter(items, timestamp.field)) : readPlace(request, timestamp));
  const idText = id && readPlace(request, id);
  if (time === null || idText === null) return null;
  return { candidates, timestamp: time ?? null, id: idText ?? null };
}

function readPlace(request: IncomingRequest, place: Place): string | null {
  const text = 'header' in place ? request.headers.single(place.header) : textAt(request.json(), place.path);
  return text !== null && text.length <= MAX_VALUE_LENGTH && PRINTABLE.test(text) ? text : null;
}

function itemsOf(value: string, separator: string | undefined): readonly string[] | null {
  if (separator === undefined) return [value];
  const items = value.split(separator.trim() || ' ', MAX_ITEMS + 1);
  return items.length > MAX_ITEMS ? null : items.map((item) => item.trimStart());
}

const itemsAfter = (items: readonly string[], prefix: string): readonly string[] =>
  items.filter((item) => item.startsWith(prefix)).map((item) => item.slice(prefix.length));

/** A repeated field is ambiguous: one of them may have been added. */
const only = (values: readonly string[]): string | null => (values.length === 1 ? (values[0] ?? null) : null);
