import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';

const DISCONNECTED = ['ERR_STREAM_PREMATURE_CLOSE', 'EPIPE', 'ECONNRESET'];

/** A client that reads nothing for this time is disconnected: what it has not read is in memory. */
const STALLED_MS = 60_000;
/** Bytes that are written at once: progress is seen when all of them have been sent. */
const PIECE = 65_536;

/** Sends a stream as the body. A client that disconnects is no error; rejects when the body cannot be read. */
export async function sendStream(stream: Readable, response: Response, stalledMs = STALLED_MS): Promise<void> {
  // The timeout of the socket also begins again when the client sends something.
  const timer = setTimeout(() => {
    // Otherwise the stream is slow, and not the client.
    if (response.writableLength > 0) response.destroy();
    else timer.refresh();
  }, stalledMs);
  const pieces = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      timer.refresh();
      for (let start = 0; start < chunk.length; start += PIECE) this.push(chunk.subarray(start, start + PIECE));
      done();
    },
  });
  const progress = (): void => void timer.refresh();
  response.on('drain', progress);
  try {
    await pipeline(stream, pieces, response);
  } catch (error) {
    if (!DISCONNECTED.includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  } finally {
    clearTimeout(timer);
    response.off('drain', progress);
  }
}
