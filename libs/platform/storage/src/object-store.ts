import type { Readable } from 'node:stream';
import { ProblemError } from '#platform/http';
import { ExtensionPoint } from '#platform/kernel';

export interface PutOptions {
  readonly contentType: string;
  /** More bytes than this are refused with an {@link ObjectTooLargeError}, and nothing is stored. */
  readonly maxBytes?: number;
}

export interface StoredObject {
  /** The content. A caller that does not read it to its end must destroy it. */
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
 * joined by `/`; every method throws on another key. The store knows no owners: the caller of `signedUrl` has checked access.
 *
 * Extension point: one plugin may add the store that the installation uses.
 */
@ExtensionPoint(['api', 'processor'])
export abstract class ObjectStore {
  /**
   * Stores or replaces an object as a whole: a reader sees the old one or the new one, never a part. When the content
   * is too large, a source stream is not destroyed, so that the request it belongs to can still be answered.
   */
  abstract put(key: string, content: Readable | Buffer, options: PutOptions): Promise<{ sizeBytes: number }>;

  abstract get(key: string): Promise<StoredObject | null>;

  /** Removes an object; one that is not there is no error. */
  abstract delete(key: string): Promise<void>;

  /** Removes every object whose key starts with `{prefix}/`. The prefix itself is made of whole segments. */
  abstract deletePrefix(prefix: string): Promise<void>;

  /** An absolute URL that gives the object to anybody who has it, until it expires. Does not check whether it exists. */
  abstract signedUrl(key: string, options: SignedUrlOptions): Promise<string>;

  /** The keys of all objects, in no order. Without it, backups do not contain the objects of the store. */
  list(): AsyncGenerator<string> {
    throw new Error('This object store cannot list its objects.');
  }

  /** Rejects when nothing can be stored at the moment. Cheap: it is asked with every readiness probe. */
  assertWritable(): Promise<void> {
    // A remote store reports its faults with each request.
    return Promise.resolve();
  }

  /** Closes connections. The store must not be used afterwards. */
  close(): void {
    // By default there are none.
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

/** The object store does not answer, or cannot store anything at the moment; a later attempt may succeed. */
export class ObjectStoreUnavailableError extends ProblemError {
  constructor(cause: unknown) {
    super('resource_unavailable', 'The object store does not answer at the moment.', { retryAfterSeconds: 5, cause });
    this.name = 'ObjectStoreUnavailableError';
  }
}

/** A segment is a file name, and those end at 255 bytes everywhere. */
const MAX_SEGMENT_LENGTH = 200;
const MAX_KEY_LENGTH = 1024;
const SEGMENT = /^(?!\.{1,2}$)[A-Za-z0-9._-]+$/;

/** The segments of a key. Throws on anything else: keys are made by code, so a bad one is a fault. */
export function objectKeySegments(key: string): string[] {
  const segments = key.split('/');
  if (key.length > MAX_KEY_LENGTH || !segments.every((part) => part.length <= MAX_SEGMENT_LENGTH && SEGMENT.test(part)))
    throw new Error(`Not an object key: ${JSON.stringify(key.slice(0, 200))}.`);
  return segments;
}
