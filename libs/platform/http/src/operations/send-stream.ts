import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';

const DISCONNECTED = ['ERR_STREAM_PREMATURE_CLOSE', 'EPIPE', 'ECONNRESET'];

/** A client that reads nothing for this time is disconnected: what it has not read is in memory. */
const STALLED_MS = 60_000;

/** Sends a stream as the body. A client that disconnects is no error; rejects when the body cannot be read. */
export async function sendStream(stream: Readable, response: Response, stalledMs = STALLED_MS): Promise<void> {
  response.setTimeout(stalledMs, () => {
    // Otherwise the stream is slow, and not the client.
    if (response.writableLength > 0) response.destroy();
  });
  try {
    await pipeline(stream, response);
  } catch (error) {
    if (!DISCONNECTED.includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}
