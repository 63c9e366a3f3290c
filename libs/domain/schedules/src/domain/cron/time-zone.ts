const LONGEST_NAME = 64;
const NAME = /^[A-Za-z][A-Za-z0-9_+/-]*$/;
const MAX_KNOWN = 1000;

/** Asking for one takes a while, and the same ones come again. */
const known = new Set<string>(['UTC']);

/** Whether `name` is a time zone this Node.js knows by its IANA name. Offsets such as `+02:00` are not names. */
export function isTimeZone(name: string): boolean {
  if (known.has(name)) return true;
  if (name.length > LONGEST_NAME || !NAME.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: name });
    if (known.size < MAX_KNOWN) known.add(name);
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
