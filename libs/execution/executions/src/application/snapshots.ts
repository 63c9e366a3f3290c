import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { Injectable } from '@nestjs/common';
import {
  MAX_MANIFEST_BYTES,
  MAX_PACK_BYTES,
  parseManifest,
  type SnapshotLimits,
  type SnapshotManifest,
  SnapshotManifestError,
  type SnapshotReason,
} from '#execution/runner-protocol';
import { Settings } from '#platform/config';
import { newUuid } from '#platform/kernel';
import { Database, type Queryable } from '#platform/persistence';
import { ObjectStore, type StoredObject } from '#platform/storage';
import { ConversationSummary } from '../domain/conversation-summary.js';
import { ExecutionsStore } from '../persistence/executions.store.js';
import { RunLogStore } from '../persistence/run-log.store.js';
import { RunTransitions } from '../persistence/run-transitions.store.js';
import { SnapshotsStore } from '../persistence/snapshots.store.js';
import { RunTail } from './run-tail.js';

const decompress = promisify(gunzip);
/** Of a decoded manifest. */
const MAX_MANIFEST_TEXT_BYTES = 256 * 1_048_576;
const PAGE_EVENTS = 1000;
const CONTENT_TYPE = 'application/octet-stream';

export interface ReportedSnapshot {
  readonly reason: SnapshotReason;
  /** Sent for this snapshot by the runner. */
  readonly storedBytes: number;
}

export type StoreSnapshotResult =
  | { readonly kind: 'stored'; readonly snapshotId: string }
  | { readonly kind: 'invalid'; readonly message: string }
  | { readonly kind: 'lease_lost' };

/** Snapshots of workspaces. One exists when its event is in the log of the run: what was uploaded before is not used without. */
@Injectable()
export class Snapshots {
  constructor(
    private readonly database: Database,
    private readonly objects: ObjectStore,
    private readonly store: SnapshotsStore,
    private readonly executions: ExecutionsStore,
    private readonly transitions: RunTransitions,
    private readonly log: RunLogStore,
    private readonly tail: RunTail,
    private readonly settings: Settings,
  ) {}

  private get limits(): SnapshotLimits {
    return { max_bytes: this.settings.maxSnapshotBytes, max_entries: this.settings.maxSnapshotFiles };
  }

  async storePack(
    executionId: string,
    leaseEpoch: number,
    packId: string,
    body: Readable,
  ): Promise<'stored' | 'lease_lost'> {
    const runId = await this.leased(executionId, leaseEpoch);
    if (runId === null) return 'lease_lost';
    const key = `snapshots/${runId}/${packId}.pack`;
    const { sizeBytes } = await this.objects.put(key, body, { contentType: CONTENT_TYPE, maxBytes: MAX_PACK_BYTES });
    await this.store.insertPack(runId, packId, key, sizeBytes);
    return 'stored';
  }

  /** Stores the manifest, then the event that makes the snapshot exist, in the order of the other events of the run. */
  async storeManifest(
    executionId: string,
    leaseEpoch: number,
    body: Readable,
    { reason, storedBytes }: ReportedSnapshot,
  ): Promise<StoreSnapshotResult> {
    const runId = await this.leased(executionId, leaseEpoch);
    if (runId === null) return { kind: 'lease_lost' };
    const id = newUuid();
    const key = `snapshots/${runId}/${id}.manifest`;
    const { sizeBytes } = await this.objects.put(key, body, {
      contentType: CONTENT_TYPE,
      maxBytes: MAX_MANIFEST_BYTES,
    });
    await this.store.insertPack(runId, id, key, sizeBytes);
    return this.publish(executionId, leaseEpoch, { id, runId, key, reason, storedBytes });
  }

  private async publish(
    executionId: string,
    leaseEpoch: number,
    snapshot: ReportedSnapshot & { readonly id: string; readonly runId: string; readonly key: string },
  ): Promise<StoreSnapshotResult> {
    const { id, runId, key, reason, storedBytes } = snapshot;
    let manifest: SnapshotManifest | null;
    try {
      manifest = await this.read(key);
    } catch (error) {
      if (error instanceof SnapshotManifestError) return { kind: 'invalid', message: error.message };
      throw error;
    }
    if (manifest === null) throw new Error('The manifest of a snapshot vanished while it was stored.');
    const { packs, entries, bytes, problems } = manifest.header;
    return this.database.transaction(async (tx): Promise<StoreSnapshotResult> => {
      await this.transitions.lock(tx, runId);
      const execution = await this.executions.lock(tx, executionId);
      if (execution?.lease_epoch !== leaseEpoch || execution.is_fenced) return { kind: 'lease_lost' };
      if (!(await this.store.hasPacks(tx, runId, packs)))
        return { kind: 'invalid', message: 'The snapshot names a pack that its run does not have.' };
      const data = {
        snapshot_id: id,
        reason,
        entries,
        size_bytes: bytes,
        stored_bytes: storedBytes,
        ...(problems.length === 0 ? {} : { problems }),
      };
      await this.log.append(tx, runId, executionId, [{ kind: 'workspace_snapshot', data }]);
      await this.store.insert(tx, { id, runId, reason, entries, sizeBytes: bytes, storedBytes });
      return { kind: 'stored', snapshotId: id };
    });
  }

  async openManifest(executionId: string, leaseEpoch: number, snapshotId: string) {
    const runId = await this.leased(executionId, leaseEpoch);
    if (runId === null) return 'lease_lost';
    const snapshot = await this.store.find(runId, snapshotId);
    return this.open(snapshot?.objectKey ?? null);
  }

  async openPack(executionId: string, leaseEpoch: number, packId: string) {
    const runId = await this.leased(executionId, leaseEpoch);
    if (runId === null) return 'lease_lost';
    return this.open(await this.store.packKey(runId, packId));
  }

  /** The earlier conversation as text: of the run, or of the run that it was forked from. Empty: there is none. */
  async summary(executionId: string, leaseEpoch: number): Promise<{ readonly text: string } | 'lease_lost'> {
    const runId = await this.leased(executionId, leaseEpoch);
    if (runId === null) return 'lease_lost';
    const fork = await this.store.forkOf(runId);
    const sources = [...(fork ? [fork] : []), { runId, seq: Number.MAX_SAFE_INTEGER }];
    const summary = new ConversationSummary();
    for (const { runId: sourceId, seq: last } of sources)
      for (let after = 0; after < last;) {
        const events = await this.tail.read(sourceId, after, PAGE_EVENTS);
        for (const event of events) if (event.seq <= last) summary.add(event);
        if (events.length < PAGE_EVENTS) break;
        after = events.at(-1)?.seq ?? last;
      }
    return { text: summary.toString() };
  }

  /** Null: it is not stored any more. Rejects with SnapshotManifestError. */
  async read(objectKey: string): Promise<SnapshotManifest | null> {
    const found = await this.objects.get(objectKey);
    if (found === null) return null;
    const text = await decompress(await buffer(found.stream), { maxOutputLength: MAX_MANIFEST_TEXT_BYTES }).catch(
      () => null,
    );
    if (text === null) throw new SnapshotManifestError('The manifest cannot be decompressed.');
    return parseManifest(text.toString('utf8'), this.limits);
  }

  /** Resolves with the keys of the objects to which nothing refers any more. */
  removeOfRuns(tx: Queryable, runIds: readonly string[]): Promise<string[]> {
    return this.store.removeOfRuns(tx, runIds);
  }

  private async open(objectKey: string | null): Promise<StoredObject | 'none'> {
    return objectKey === null ? 'none' : ((await this.objects.get(objectKey)) ?? 'none');
  }

  /** The run of the lease, which the call renews: the runner counts on it. */
  private async leased(executionId: string, leaseEpoch: number): Promise<string | null> {
    if ((await this.executions.renew(executionId, leaseEpoch)) === null) return null;
    return this.store.runOfLease(executionId, leaseEpoch);
  }
}
