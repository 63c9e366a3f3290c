import { pipeline } from 'node:stream/promises';
import type { ObjectStore } from '#platform/storage';
import { CommandError } from '../cli/command.js';
import { HashingStream } from './hashing-stream.js';

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
  const failures: CommandError[] = [];
  const copy = async (): Promise<void> => {
    for (let next = await keys.next(); next.done !== true && failures.length === 0; next = await keys.next()) {
      try {
        const object = await copyObject(source, target, next.value);
        if (object !== null) copied(object);
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        failures.push(new CommandError(`The object ${next.value} cannot be copied: ${reason}`));
      }
    }
  };
  const results = await Promise.allSettled(Array.from({ length: CONCURRENCY }, copy));
  const [failure] = failures;
  if (failure) throw failure;
  const listing = results.find((result) => result.status === 'rejected');
  if (listing) throw listing.reason;
}

async function copyObject(source: ObjectStore, target: ObjectStore, key: string): Promise<CopiedObject | null> {
  const object = await source.get(key);
  if (object === null) return null;
  const hashing = new HashingStream();
  const [{ sizeBytes }] = await Promise.all([
    target.put(key, hashing, { contentType: object.contentType }),
    pipeline(object.stream, hashing),
  ]);
  return { key, bytes: sizeBytes, sha256: hashing.sha256() };
}
