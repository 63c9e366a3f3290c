import type { ObjectStore } from '#platform/storage';

/** Copied at the same time; each waits for its store most of the time. */
const CONCURRENCY = 8;

/** Copies every object. One that is deleted meanwhile is left out. */
export async function copyObjects(
  source: ObjectStore,
  target: ObjectStore,
): Promise<{ readonly count: number; readonly bytes: number }> {
  let count = 0;
  let bytes = 0;
  const keys = source.list();
  const copy = async (): Promise<void> => {
    for (let next = await keys.next(); next.done !== true; next = await keys.next()) {
      const object = await source.get(next.value);
      if (object === null) continue;
      const { sizeBytes } = await target.put(next.value, object.stream, { contentType: object.contentType });
      count += 1;
      bytes += sizeBytes;
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, copy));
  return { count, bytes };
}
