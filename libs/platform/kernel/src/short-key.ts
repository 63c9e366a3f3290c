import { createHash } from 'node:crypto';

/** The text, or its hash if it has more than `max` characters. */
export const shortKey = (text: string, max: number): string =>
  text.length <= max ? text : createHash('sha256').update(text).digest('hex');
