import type { Readable } from 'node:stream';

export interface PutOptions {
  /** Media type, told again by `get` and by downloads. */
  readonly contentType: string;
  /** More bytes than this are refused with an {@link ObjectTooLargeError}, and nothing is stored. */
  readonly maxBytes?: number;
}

export interface StoredObject {
  /** The content. Whoever does not read it to its end destroys it. */
  readonly stream: Readable;
  readonly sizeBytes: number;
  readonly contentType: string;
}

export interface SignedUrlOptions {
  /** How long the URL works, in milliseconds from now. */
  readonly ttlMs: number;
  /** The name that a browser saves the download under. Default: the key's last segment. */
  readonly fileName?: string;
  /** Sent instead of the stored media type. */
  readonly contentType?: string;
}

/**
 * The port for everything that is too large for a row: transcripts, artifacts, attachments. Also the
 * dependency-injection token. Keys look like paths (`transcripts/{run_id}/1.jsonl`): segments of `[A-Za-z0-9._-]`
 * joined by `/`; every method throws on another key. Knows no owners: whoever hands out a URL has checked access.
 */
export abstract class ObjectStore {
  /**
   * Stores or replaces an object as a whole: a reader sees the old one or the new one, never a part. When the content
   * is too large, a source stream is left as it stands, so that the request it belongs to can still be answered.
   */
  abstract put(key: string, content: Readable | Buffer, options: PutOptions): Promise<{ sizeBytes: number }>;

  /** The object, or null when there is none. */
  abstract get(key: string): Promise<StoredObject | null>;

  /** Removes an object; one that is not there is no error. */
  abstract delete(key: string): Promise<void>;

  /** Removes every object whose key starts with `{prefix}/`. The prefix itself is made of whole segments. */
  abstract deletePrefix(prefix: string): Promise<void>;

  /** An absolute URL that gives the object to anybody who has it, until it expires. Does not look whether it exists. */
  abstract signedUrl(key: string, options: SignedUrlOptions): Promise<string>;

  /** Rejects when nothing can be stored at the moment. Cheap: it is asked with every readiness probe. */
  assertWritable(): Promise<void> {
    // A store that is a service of its own reports its faults with each request.
    return Promise.resolve();
  }

  /** Lets go of connections. Nothing may be asked of the store afterwards. */
  close(): void {
    // A store without connections has nothing to do here.
  }
}

export class ObjectTooLargeError extends Error {
  constructor(
    readonly key: string,
    readonly maxBytes: number,
  ) {
    super(`The object ${key} is larger than ${maxBytes} bytes.`);
    this.name = 'ObjectTooLargeError';
  }
}
