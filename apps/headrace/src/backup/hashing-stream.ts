import { createHash } from 'node:crypto';
import { Transform, type TransformCallback } from 'node:stream';

/** Passes content on and computes its SHA-256. */
export class HashingStream extends Transform {
  private readonly hash = createHash('sha256');

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.hash.update(chunk);
    done(null, chunk);
  }

  /** Hexadecimal, of what has passed. Callable once. */
  sha256(): string {
    return this.hash.digest('hex');
  }
}
