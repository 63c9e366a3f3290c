import type { Readable } from 'node:stream';

const MAX_LINE_BYTES = 1_048_576;

/** JSON values that a stream holds one a line. What is no JSON is passed over; an endless line is an error. */
export async function* jsonLines(stream: Readable): AsyncGenerator<Record<string, unknown>> {
  let rest = Buffer.alloc(0);
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    rest = Buffer.concat([rest, chunk]);
    for (let end = rest.indexOf(0x0a); end >= 0; end = rest.indexOf(0x0a)) {
      const value = parse(rest.subarray(0, end));
      rest = rest.subarray(end + 1);
      if (value) yield value;
    }
    if (rest.length > MAX_LINE_BYTES) throw new Error(`A line is longer than ${MAX_LINE_BYTES} bytes.`);
  }
  const last = parse(rest);
  if (last) yield last;
}

function parse(line: Buffer): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(line.toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
