import type { IncomingRequest } from './incoming-request.js';
import { textAt } from './body-text.js';

/** Where a request carries something: a header (lower case), or keys from the root of its JSON body. */
export type Place = { readonly header: string } | { readonly path: readonly string[]; readonly asNumber?: boolean };

/** Where signature, time and id of a request stand. All of it must be there. */
export interface SignatureFraming {
  /**
   * What stands in front of a signature, literally: `sha256=`, `v1=`, `v1,`; items without it are not signatures.
   * `separator`: the place holds a list; any item that fits will do. One with a blank behind it is written so and read
   * with and without.
   */
  readonly signature: Place & { readonly prefix?: string; readonly separator?: string };
  /** `field`: an item of the signature's list, by what stands in front of it: `t=`. */
  readonly timestamp?: Place | { readonly field: string };
  readonly id?: Place;
}

export interface FramedSignature {
  readonly candidates: readonly string[];
  readonly timestamp: string | null;
  readonly id: string | null;
}

/** Longer values, and lists of more items, are refused: nobody sends them, and checking them costs. */
const MAX_VALUE_LENGTH = 4096;
const MAX_ITEMS = 32;
/** What a header can hold and a signature can mean in one way only. */
const PRINTABLE = /^[\x20-\x7e]+$/;

/**
 * Reads one complete framing, the first that is. Null when there is none, or when a header of one before it is there
 * too: headers of two framings are never mixed, or an unsigned header could pass for a signed one.
 */
export function readFraming(request: IncomingRequest, framings: readonly SignatureFraming[]): FramedSignature | null {
  const passedOver: string[] = [];
  for (const framing of framings) {
    const found = readOne(request, framing);
    if (found === null) {
      passedOver.push(...framingHeaders(framing));
      continue;
    }
    if (passedOver.length === 0) return found;
    const own = framingHeaders(framing);
    return passedOver.some((name) => !own.includes(name) && request.headers.has(name)) ? null : found;
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

/** Twice the same field is ambiguous: somebody may have added one. */
const only = (values: readonly string[]): string | null => (values.length === 1 ? (values[0] ?? null) : null);
