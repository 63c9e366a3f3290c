import { randomBytes, randomFillSync } from 'node:crypto';
import { V7Generator } from 'uuidv7';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const UID = /^[A-Za-z0-9]{22}$/;

/** Encodes bytes as a base62 number, left-padded with `0` to `length` characters. */
export function base62(bytes: Uint8Array, length: number): string {
  let value = BigInt(`0x${Buffer.from(bytes).toString('hex') || '0'}`);
  let text = '';
  while (value > 0n) {
    text = (BASE62[Number(value % 62n)] ?? '') + text;
    value /= 62n;
  }
  return text.padStart(length, '0');
}

/** A resource UID: 128 random bits as exactly 22 characters of `[0-9A-Za-z]`. */
export function newUid(): string {
  return base62(randomBytes(16), 22);
}

export function isUid(value: string): boolean {
  return UID.test(value);
}

const numbers = new Uint32Array(1024);
let used = numbers.length;

/** Random numbers are drawn many at a time: the library's own source asks the system again for every third UUID. */
function nextUint32(): number {
  if (used === numbers.length) {
    randomFillSync(numbers);
    used = 0;
  }
  return numbers[used++] ?? 0;
}

const uuids = new V7Generator({ nextUint32 });

/** A time-ordered UUID (version 7), lower case. */
export function newUuid(): string {
  return uuids.generate().toString();
}

/** The smallest UUID (version 7) of that time's millisecond: those made before are smaller, also as text. */
export function uuidFloor(at: Date): string {
  const hex = at.getTime().toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}

export function isUuid(value: string): boolean {
  return UUID.test(value);
}
