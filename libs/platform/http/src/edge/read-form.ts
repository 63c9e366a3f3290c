import type { Request } from 'express';

/** The fields of a form that a `@StreamedBody()` handler receives, or why it is not one. */
export async function readForm(
  request: Request,
  maxBytes: number,
): Promise<URLSearchParams | 'unsupported_media_type' | 'payload_too_large'> {
  if (request.is('application/x-www-form-urlencoded') === false) return 'unsupported_media_type';
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) return 'payload_too_large';
    chunks.push(chunk);
  }
  return new URLSearchParams(Buffer.concat(chunks).toString('utf8'));
}
