/** First and last byte, both included. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Reads a `Range` header against an object of `sizeBytes`. `null`: no range, or one that a server may ignore (several
 * ranges, another unit, nonsense), so the whole object is sent. RFC 9110, section 14.
 */
export function resolveByteRange(header: string | undefined, sizeBytes: number): ByteRange | 'unsatisfiable' | null {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? '');
  if (!match) return null;
  const [first, last] = [match[1] ?? '', match[2] ?? ''];
  if (first === '') {
    if (last === '') return null;
    const suffix = Math.min(Number(last), sizeBytes);
    return suffix === 0 ? 'unsatisfiable' : { start: sizeBytes - suffix, end: sizeBytes - 1 };
  }
  const start = Number(first);
  if (last !== '' && Number(last) < start) return null;
  if (start >= sizeBytes) return 'unsatisfiable';
  return { start, end: last === '' ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1) };
}
