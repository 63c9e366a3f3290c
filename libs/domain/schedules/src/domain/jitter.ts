import { createHash } from 'node:crypto';

/** Milliseconds from 0 to `jitterSeconds`, spread evenly over timers and due times; the same for the same two. */
export function jitterOf(key: string, dueAt: Date, jitterSeconds: number): number {
  if (jitterSeconds === 0) return 0;
  const hash = createHash('sha256').update(`${key} ${dueAt.toISOString()}`).digest().readUInt32BE(0);
  return Math.floor((hash / 2 ** 32) * jitterSeconds * 1000);
}
