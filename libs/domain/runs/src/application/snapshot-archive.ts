import { once } from 'node:events';
import { pipeline, Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { type Pack, pack as newArchive } from 'tar-stream';
import type { SnapshotReader } from '#execution/executions';
import type { SnapshotEntry } from '#execution/runner-protocol';

/** A gzipped tar archive of entries, each named relative to `directory`. A part that is damaged ends the stream with an error. */
export function archiveOf(entries: readonly SnapshotEntry[], directory: string, reader: SnapshotReader): Readable {
  // An error is for the reader of the result.
  return pipeline(Readable.from(blocksOf(entries, directory, reader)), createGzip({ level: 1 }), () => undefined);
}

async function* blocksOf(
  entries: readonly SnapshotEntry[],
  directory: string,
  reader: SnapshotReader,
): AsyncGenerator<Buffer> {
  const archive = newArchive();
  const filling = fill(archive, entries, directory, reader).catch((error: unknown) => archive.destroy(error as Error));
  try {
    for await (const block of archive as AsyncIterable<Buffer>) yield block;
    await filling;
  } finally {
    archive.destroy();
  }
}

async function fill(
  archive: Pack,
  entries: readonly SnapshotEntry[],
  directory: string,
  reader: SnapshotReader,
): Promise<void> {
  for (const entry of entries) {
    const name = entry.path.slice(directory.length + 1);
    if (name === '') continue;
    if (entry.type === 'directory') archive.entry({ name: `${name}/`, type: 'directory', mode: entry.mode });
    else if (entry.type === 'link') archive.entry({ name, type: 'symlink', linkname: entry.target });
    else {
      const { size, mode, mtime } = entry;
      const file = archive.entry({ name, size, mode, mtime: new Date(mtime) });
      // The archive fails with it.
      file.on('error', () => undefined);
      for await (const block of reader.read(entry)) {
        // The reader of the archive may have gone away.
        if (!file.write(block)) await Promise.race([once(file, 'drain'), once(archive, 'close')]);
        if (archive.destroyed) return;
      }
      const stored = once(file, 'close');
      file.end(null);
      await stored;
    }
  }
  archive.finalize();
}
