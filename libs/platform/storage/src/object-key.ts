/** Longest key in characters; a segment is a file name, and those end at 255 bytes everywhere. */
const MAX_KEY_LENGTH = 1024;
const MAX_SEGMENT_LENGTH = 200;
const SEGMENT = /^[A-Za-z0-9._-]+$/;

/** Whether `key` is one: segments of `[A-Za-z0-9._-]` joined by `/`, none of them `.` or `..`. */
export function isObjectKey(key: string): boolean {
  if (key.length > MAX_KEY_LENGTH) return false;
  return key
    .split('/')
    .every((part) => part.length <= MAX_SEGMENT_LENGTH && SEGMENT.test(part) && part !== '.' && part !== '..');
}

/** The segments of a key. Throws on anything else: keys are made by code, so a bad one is a fault. */
export function objectKeySegments(key: string): string[] {
  if (!isObjectKey(key)) throw new Error(`Not an object key: ${JSON.stringify(key.slice(0, 200))}.`);
  return key.split('/');
}
