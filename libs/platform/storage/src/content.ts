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

/** A media type that an agent may have reported; what cannot be a header is replaced. */
export function mediaType(text: string): string {
  return /^[\x21-\x7e][\x20-\x7e]{0,254}$/.test(text) ? text : 'application/octet-stream';
}

const encodeExtended = (text: string): string =>
  encodeURIComponent(text).replace(/['()*!]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);

/**
 * `Content-Disposition` of a download (RFC 6266): the name in ASCII for old clients, and whole in `filename*`.
 * Directory parts and control characters are removed: a name never determines a directory.
 */
export function attachmentDisposition(fileName: string): string {
  const name =
    fileName
      .toWellFormed()
      .replace(/^.*[/\\]/s, '')
      .replace(/[\u0000-\u001f\u007f-\u009f]/g, '')
      .slice(0, 200)
      .toWellFormed() || 'download';
  const ascii = name.replace(/[^ -~]/g, '_').replace(/["\\%]/g, '_');
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encodeExtended(name)}`;
}
