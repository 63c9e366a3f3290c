const LONGEST_NAME = 64;
const NAME = /^[A-Za-z][A-Za-z0-9_+/-]*$/;

/** Whether `name` is a time zone this Node.js knows by its IANA name. Offsets such as `+02:00` are not names. */
export function isTimeZone(name: string): boolean {
  if (name.length > LONGEST_NAME || !NAME.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: name });
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
