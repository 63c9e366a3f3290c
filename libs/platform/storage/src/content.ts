import type { Readable } from 'node:stream';

/** A source's chunks as bytes; leaving the loop early does not destroy the stream. */
export async function* chunksOf(content: Readable | Buffer): AsyncGenerator<Buffer> {
  if (Buffer.isBuffer(content)) {
    yield content;
    return;
  }
  for await (const chunk of content.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer | string>) {
    yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
  }
}

/** Callers may pass on what an agent said; it becomes a header, so it has to be one. */
export function mediaType(text: string): string {
  return /^[\x21-\x7e][\x20-\x7e]{0,254}$/.test(text) ? text : 'application/octet-stream';
}
