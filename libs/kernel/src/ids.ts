import { randomBytes } from 'node:crypto';
import { uuidv7 as generateUuidv7 } from 'uuidv7';

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

/** A time-ordered UUID (version 7), lower case. */
export function newUuid(): string {
  return generateUuidv7();
}

/** The smallest UUID (version 7) of that time's millisecond: those made before are smaller, also as text. */
export function uuidFloor(at: Date): string {
  const hex = at.getTime().toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}

export function isUuid(value: string): boolean {
  return UUID.test(value);
}
