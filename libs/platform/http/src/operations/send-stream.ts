import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';

const DISCONNECTED = ['ERR_STREAM_PREMATURE_CLOSE', 'EPIPE', 'ECONNRESET'];

/** Sends a stream as the body. A client that disconnects is no error; rejects when the body cannot be read. */
export async function sendStream(stream: Readable, response: Response): Promise<void> {
  try {
    await pipeline(stream, response);
  } catch (error) {
    if (!DISCONNECTED.includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}
