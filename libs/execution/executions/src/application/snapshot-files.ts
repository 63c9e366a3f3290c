import { buffer } from 'node:stream/consumers';
import { Injectable, Logger } from '@nestjs/common';
import {
  decodeBlock,
  partOf,
  SnapshotDamagedError,
  type SnapshotFile,
  type SnapshotManifest,
  SnapshotManifestError,
} from '#execution/runner-protocol';
import { SnapshotObjects } from '../adapters/snapshot-objects.js';
import { type StoredSnapshot, SnapshotsStore } from '../persistence/snapshots.store.js';
import { Snapshots } from './snapshots.js';

/** Packs in memory for one reader. */
const KEPT_PACKS = 2;

/** Reads files of snapshots. */
@Injectable()
export class SnapshotFiles {
  private readonly logger = new Logger(SnapshotFiles.name);

  constructor(
    private readonly snapshots: Snapshots,
    private readonly store: SnapshotsStore,
    private readonly objects: SnapshotObjects,
  ) {}

  /** Null: the snapshot is not stored any more, or its list of files is damaged. */
  async open(snapshot: StoredSnapshot): Promise<SnapshotReader | null> {
    const manifest = await this.snapshots.read(snapshot.manifest).catch((error: unknown) => {
      if (!(error instanceof SnapshotDamagedError) && !(error instanceof SnapshotManifestError)) throw error;
      this.logger.error(`${snapshot.manifest.objectKey}: ${error.message}`);
      return null;
    });
    return manifest && new SnapshotReader(manifest, (packId) => this.pack(snapshot.runId, packId));
  }

  private async pack(runId: string, packId: string): Promise<Buffer> {
    const location = await this.store.pack(runId, packId);
    const found = location && (await this.objects.get(location));
    if (found === null) throw new SnapshotDamagedError('A part of the snapshot is not stored any more.');
    return found;
  }
}

/** One snapshot. Neighbouring files are in the same packs, so the last packs are kept. */
export class SnapshotReader {
  private readonly packs = new Map<string, Promise<Buffer>>();

  constructor(
    readonly manifest: SnapshotManifest,
    private readonly load: (packId: string) => Promise<Buffer>,
  ) {}

  /** The content in blocks of at most 1 MiB. Rejects with SnapshotDamagedError. */
  async *read({ content }: SnapshotFile): AsyncGenerator<Buffer> {
    for (const [pack, offset, stored, from, length] of content)
      yield partOf(await decodeBlock(await this.pack(pack), offset, stored), from, length);
  }

  readWhole(file: SnapshotFile): Promise<Buffer> {
    return buffer(this.read(file));
  }

  private pack(index: number): Promise<Buffer> {
    const packId = this.manifest.header.packs[index] ?? '';
    const pack = this.packs.get(packId) ?? this.load(packId);
    this.packs.delete(packId);
    this.packs.set(packId, pack);
    const [oldest] = this.packs.keys();
    if (this.packs.size > KEPT_PACKS && oldest !== undefined) this.packs.delete(oldest);
    return pack;
  }
}
