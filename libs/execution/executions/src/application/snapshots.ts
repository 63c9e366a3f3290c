import type { Readable } from 'node:stream';
import { LRUCache } from 'lru-cache';
import { Injectable, Logger } from '@nestjs/common';
import {
  decodeManifest,
  MAX_INLINE_PACK_BYTES,
  MAX_MANIFEST_BYTES,
  MAX_PACK_BYTES,
  SnapshotDamagedError,
  type SnapshotLimits,
  type SnapshotManifest,
  SnapshotManifestError,
  type SnapshotReason,
  type WorkspaceSnapshot,
} from '#execution/runner-protocol';
import { Settings } from '#platform/config';
import { KeyedSemaphore, newUuid } from '#platform/kernel';
import { type LabeledCounter, Metrics } from '#platform/observability';
import type { Queryable } from '#platform/persistence';
import { chunksOf, ObjectTooLargeError } from '#platform/storage';
import { ConversationSummary } from '../domain/conversation-summary.js';
import { ExecutionsStore } from '../persistence/executions.store.js';
import { SnapshotObjects } from '../adapters/snapshot-objects.js';
import { type PackLocation, SnapshotsStore } from '../persistence/snapshots.store.js';
import { RunTail } from './run-tail.js';

const PAGE_EVENTS = 1000;
const KEPT_MS = 10_000;
const RESULTS = ['stored', 'invalid', 'busy', 'lease_lost'] as const;

export interface ReportedSnapshot {
  readonly reason: SnapshotReason;
  /** Sent for this snapshot by the runner. */
  readonly storedBytes: number;
  /** A pack that precedes the manifest in the same body; null: none does. */
  readonly pack: { readonly id: string; readonly bytes: number } | null;
}

export type StoreSnapshotResult =
  | { readonly kind: 'stored'; readonly snapshot: WorkspaceSnapshot }
  | { readonly kind: 'invalid'; readonly message: string }
  | { readonly kind: 'busy' }
  | { readonly kind: 'lease_lost' };

/**
 * Snapshots of workspaces. One exists when the runner has reported it with an event, which the log of the run has between the
 * events before and after it: what was uploaded before is not used without.
 */
@Injectable()
export class Snapshots {
  private readonly logger = new Logger(Snapshots.name);
  private readonly results: LabeledCounter<(typeof RESULTS)[number]>;
  private readonly storedBytes;

  /** What was read last, by the key of its object: a page of a run reads the same repeatedly, and a large one takes seconds. */
  private readonly manifests = new LRUCache<string, Promise<SnapshotManifest | null>>({
    max: 2,
    ttl: KEPT_MS,
    ttlAutopurge: true,
  });
  /** One after the other: each needs the processor and memory. */
  private reading: Promise<unknown> = Promise.resolve();
  /** As for reading, in turns of the owners: one that sends large ones does not delay the others. */
  private readonly decoding = new KeyedSemaphore({ total: 2, perKey: 1, maxWaiting: 200, maxWaitMs: 30_000 });

  constructor(
    private readonly objects: SnapshotObjects,
    private readonly store: SnapshotsStore,
    private readonly executions: ExecutionsStore,
    private readonly tail: RunTail,
    private readonly settings: Settings,
    metrics: Metrics,
  ) {
    this.results = metrics.labeledCounter(
      'headrace_snapshots_total',
      'Snapshots of workspaces that runners have sent, by result.',
      'result',
      RESULTS,
    );
    this.storedBytes = metrics.counter('headrace_snapshot_stored_bytes_total', 'Bytes that snapshots have stored.');
  }

  private get limits(): SnapshotLimits {
    return { max_bytes: this.settings.maxSnapshotBytes, max_entries: this.settings.maxSnapshotFiles };
  }

  async storePack(
    executionId: string,
    leaseEpoch: number,
    packId: string,
    body: Readable,
  ): Promise<'stored' | 'lease_lost'> {
    const runId = await this.executions.renewOfRun(executionId, leaseEpoch);
    if (runId === null) return 'lease_lost';
    const pack = await this.objects.put(packId, packKey(runId, packId), body, MAX_PACK_BYTES);
    await this.store.insertPacks(runId, [pack]);
    return 'stored';
  }

  /** Two statements: one renews the lease, one stores what the objects mean. */
  async storeManifest(
    executionId: string,
    leaseEpoch: number,
    body: Readable,
    reported: ReportedSnapshot,
  ): Promise<StoreSnapshotResult> {
    const result = await this.checkAndStore(executionId, leaseEpoch, body, reported);
    this.results.add(result.kind);
    if (result.kind === 'stored') this.storedBytes.inc(result.snapshot.stored_bytes);
    return result;
  }

  private async checkAndStore(
    executionId: string,
    leaseEpoch: number,
    body: Readable,
    { reason, storedBytes, pack }: ReportedSnapshot,
  ): Promise<StoreSnapshotResult> {
    const renewed = await this.executions.renewOwned(executionId, leaseEpoch);
    if (renewed === null) return { kind: 'lease_lost' };
    const { runId, ownerKey } = renewed;
    const bytes = await readBody(body, MAX_MANIFEST_BYTES + MAX_INLINE_PACK_BYTES);
    const packBytes = pack?.bytes ?? 0;
    const encoded = bytes.subarray(packBytes);
    let manifest: SnapshotManifest | null;
    try {
      manifest = await this.decoding.run(ownerKey, () => decodeManifest(encoded, this.limits));
    } catch (error) {
      if (error instanceof SnapshotManifestError) return { kind: 'invalid', message: error.message };
      throw error;
    }
    if (manifest === null) return { kind: 'busy' };
    const id = newUuid();
    const stored = await Promise.all([
      this.objects.put(id, `snapshots/${runId}/${id}.manifest`, encoded, MAX_MANIFEST_BYTES),
      ...(pack === null
        ? []
        : [this.objects.put(pack.id, packKey(runId, pack.id), bytes.subarray(0, packBytes), MAX_INLINE_PACK_BYTES)]),
    ]);
    const { packs, entries, bytes: sizeBytes, problems } = manifest.header;
    const snapshot = { id, runId, reason, entries, sizeBytes, storedBytes };
    if (!(await this.store.insert(snapshot, stored, packs)))
      return { kind: 'invalid', message: 'The snapshot names a pack that its run does not have.' };
    return {
      kind: 'stored',
      snapshot: {
        snapshot_id: id,
        reason,
        entries,
        size_bytes: sizeBytes,
        stored_bytes: storedBytes,
        ...(problems.length === 0 ? {} : { problems }),
      },
    };
  }

  async openManifest(executionId: string, leaseEpoch: number, snapshotId: string) {
    const runId = await this.executions.renewOfRun(executionId, leaseEpoch);
    if (runId === null) return 'lease_lost';
    const snapshot = await this.store.find(runId, snapshotId);
    return this.open(snapshot?.manifest ?? null);
  }

  async openPack(executionId: string, leaseEpoch: number, packId: string) {
    const runId = await this.executions.renewOfRun(executionId, leaseEpoch);
    if (runId === null) return 'lease_lost';
    return this.open(await this.store.pack(runId, packId));
  }

  /** The earlier conversation as text: of the run, or of the run that it was forked from. Empty: there is none. */
  async summary(executionId: string, leaseEpoch: number): Promise<{ readonly text: string } | 'lease_lost'> {
    const runId = await this.executions.renewOfRun(executionId, leaseEpoch);
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

  /** Null: it is not stored any more. Rejects with SnapshotManifestError, or SnapshotDamagedError. */
  async read(location: PackLocation): Promise<SnapshotManifest | null> {
    const known = this.manifests.get(location.objectKey);
    if (known) return known;
    const reading = this.reading.then(async () => {
      const stored = await this.objects.get(location);
      return stored && decodeManifest(stored, this.limits);
    });
    this.manifests.set(location.objectKey, reading);
    this.reading = reading.catch(() => this.manifests.delete(location.objectKey));
    return reading;
  }

  /** Resolves with the keys of the objects to which nothing refers any more. */
  removeOfRuns(tx: Queryable, runIds: readonly string[]): Promise<string[]> {
    return this.store.removeOfRuns(tx, runIds);
  }

  /** What is damaged is not there: its runner prepares the workspace in another way. */
  private async open(location: PackLocation | null): Promise<Buffer | 'none'> {
    try {
      return (location && (await this.objects.get(location))) ?? 'none';
    } catch (error) {
      if (!(error instanceof SnapshotDamagedError)) throw error;
      this.logger.error(`${location?.objectKey}: ${error.message}`);
      return 'none';
    }
  }
}

/** Each attempt to store a pack has another object: its key is a new one, too. */
const packKey = (runId: string, packId: string): string => `snapshots/${runId}/${packId}/${newUuid()}.pack`;

/** Rejects with ObjectTooLargeError. */
async function readBody(body: Readable, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunksOf(body)) {
    length += chunk.length;
    if (length > maxBytes) throw new ObjectTooLargeError('manifest', maxBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
