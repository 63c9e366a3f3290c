import { createHash } from 'node:crypto';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ObjectStore } from '#platform/storage';
import { CommandError } from '../cli/command.js';

/** Copied at the same time; each waits for its store most of the time. */
const CONCURRENCY = 8;

export interface CopiedObject {
  readonly key: string;
  readonly bytes: number;
  readonly sha256: string;
}

/**
 * Copies every object and passes it to `copied`, which may throw. One that is deleted meanwhile is left out. Rejects with the first
 * failure when nothing is being copied any more.
 */
export async function copyObjects(
  source: ObjectStore,
  target: ObjectStore,
  copied: (object: CopiedObject) => void,
): Promise<void> {
  const keys = source.list();
  let failure: { readonly error: unknown } | null = null;
  const copy = async (): Promise<void> => {
    for (let next = await keys.next(); next.done !== true && failure === null; next = await keys.next()) {
      try {
        const object = await copyObject(source, target, next.value);
        if (object !== null) copied(object);
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        failure ??= { error: new CommandError(`The object ${next.value} cannot be copied: ${reason}`) };
      }
    }
  };
  const results = await Promise.allSettled(Array.from({ length: CONCURRENCY }, copy));
  const listing = results.find((result) => result.status === 'rejected');
  if (failure !== null) throw (failure as { readonly error: unknown }).error;
  if (listing) throw listing.reason;
}

async function copyObject(source: ObjectStore, target: ObjectStore, key: string): Promise<CopiedObject | null> {
  const object = await source.get(key);
  if (object === null) return null;
  const hash = createHash('sha256');
  const hashing = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      done(null, chunk);
    },
  });
  const [{ sizeBytes }] = await Promise.all([
    target.put(key, hashing, { contentType: object.contentType }),
    pipeline(object.stream, hashing),
  ]);
  return { key, bytes: sizeBytes, sha256: hash.digest('hex') };
}
