import {
  decodeManifest,
  MAX_INLINE_PACK_BYTES,
  SnapshotDamagedError,
  type SnapshotManifest,
  SnapshotManifestError,
  type SnapshotOrder,
  type SnapshotReason,
  type WorkspaceRestored,
  type WorkspaceSnapshot,
  type WorkspaceSnapshotFailed,
} from '#execution/runner-protocol';
import type { ExecutionOptions } from '../execution-options.js';
import { againUnless, LeaseLostError, type SnapshotPack } from '../protocol/control-plane.js';
import { errorText } from '../runner-log.js';
import { retry } from '../retry.js';
import { failed, TerminatedError } from '../termination.js';
import { retryTransient } from '../transient.js';
import type { Workspace } from '../workspace/workspace.js';
import { pauseMatching, type SweepTargets } from '../process/sweep.js';
import { restoreWorkspace } from './restore-workspace.js';
import { TooManyEntriesError } from './scan-workspace.js';
import { SnapshotTooLargeError, WorkspaceSnapshots } from './workspace-snapshots.js';

const LACKS_TURN = 'The last turn was interrupted: changes that it made after the snapshot are missing.';
const NOT_STORED = 'No snapshot of them was stored. ';
const UPLOAD_TRIES = 6;
/** Processes of the agent are paused for at most this long: its model and its tools have time limits. */
const MAX_PAUSE_MS = 5_000;

export interface SnapshotSyncOptions extends Pick<
  ExecutionOptions,
  'plane' | 'outbox' | 'termination' | 'redactor' | 'log'
> {
  readonly workspace: Workspace;
  readonly order: SnapshotOrder;
  /** All processes of the execution. */
  readonly targets: () => SweepTargets;
}

export interface RestoredSnapshot {
  /** False: the workspace is empty, because the snapshot cannot be used. */
  readonly isComplete: boolean;
  /** For the agent: what it does not find in the workspace. Empty: nothing is missing. */
  readonly notice: string;
}

/** Restores the workspace before anything runs in it, and takes snapshots of it. A failure does not end the execution. */
export class SnapshotSync {
  private readonly snapshots: WorkspaceSnapshots;
  /** The one that is taken now. */
  private current: Promise<void> = Promise.resolve();
  private timer: NodeJS.Timeout | undefined;
  private lastFailure = '';
  /** Snapshots that were not equal to the one before, or that were not stored. */
  private changes = 0;
  /** When the current one was begun. */
  private startedAt = 0;
  /** The last pack, when it is small: it is sent together with the manifest. */
  private held: SnapshotPack | null = null;

  constructor(private readonly options: SnapshotSyncOptions) {
    const { workspace, order } = options;
    this.snapshots = new WorkspaceSnapshots({
      places: workspace.places,
      runAs: workspace.runAs,
      limits: order,
      store: {
        putPack: async (id, content) => {
          await this.sendHeld();
          const size = content.reduce((sum, { length }) => sum + length, 0);
          if (size <= MAX_INLINE_PACK_BYTES) this.held = { id, content: Buffer.concat(content) };
          else await this.upload(() => options.plane.putSnapshotPack(id, content));
        },
        putManifest: async (manifest, { reason, storedBytes }) => {
          const { held: pack } = this;
          const stored = await this.upload(() => options.plane.putSnapshot(manifest, { reason, storedBytes, pack }));
          this.held = null;
          options.outbox.push<WorkspaceSnapshot>('workspace_snapshot', { ...stored, duration_ms: this.durationMs });
          return stored.snapshot_id;
        },
      },
    });
  }

  /** Null: there is no snapshot to restore. Rejects when it may be available later. */
  async restore(): Promise<RestoredSnapshot | null> {
    const { order, outbox, workspace, termination, log } = this.options;
    if (order.restore === undefined) return order.lacks_last_turn === true ? this.prepareAgain(NOT_STORED) : null;
    const startedAt = performance.now();
    try {
      const manifest = await this.readManifest(order.restore);
      const { entries, bytes, problems } = await restoreWorkspace({
        places: workspace.places,
        keepsPlaces: workspace.isInPlace,
        runAs: workspace.runAs,
        manifest,
        getPack: (packId) => this.download(() => this.options.plane.getSnapshotPack(packId)),
        signal: termination.signal,
      });
      workspace.adoptStart(
        manifest.entries.some(({ type, path }) => type === 'directory' && path === `work/${workspace.startIn}`),
      );
      await this.snapshots.adopt(manifest);
      const { excluded } = manifest.header;
      const all = [...manifest.header.problems, ...problems, ...(order.lacks_last_turn === true ? [LACKS_TURN] : [])];
      outbox.push<WorkspaceRestored>('workspace_restored', {
        snapshot_id: order.restore,
        entries,
        size_bytes: bytes,
        duration_ms: Math.round(performance.now() - startedAt),
        ...(all.length === 0 ? {} : { problems: all }),
      });
      return { isComplete: true, notice: noticeOf(excluded, all) };
    } catch (error) {
      if (!(error instanceof SnapshotDamagedError) && !(error instanceof SnapshotManifestError)) throw error;
      log.error('the snapshot cannot be restored', { snapshot_id: order.restore, error: error.message });
      if (workspace.isInPlace) {
        termination.decide(failed('environment_setup_failed', `The snapshot was not restored: ${error.message}`));
        throw new TerminatedError();
      }
      await workspace.recreateWork();
      return this.prepareAgain(`${error.message} `);
    }
  }

  private prepareAgain(reason: string): RestoredSnapshot {
    const message = `The files of the earlier session were not restored: ${reason}The workspace was prepared again.`;
    this.options.outbox.push<WorkspaceSnapshotFailed>('workspace_snapshot_failed', { message });
    return { isComplete: false, notice: `[${message}]\n\n` };
  }

  /** Another number: the repositories may have changed. Undefined: snapshots do not contain everything in them. */
  get revision(): number | undefined {
    return this.snapshots.isPartial ? undefined : this.changes;
  }

  /** Resolves when the snapshot is stored, or could not be stored. Rejects when the lease is lost. */
  take(reason: SnapshotReason): Promise<void> {
    this.current = this.current.catch(() => undefined).then(() => this.takeNow(reason));
    return this.current;
  }

  /** Snapshots during a turn, until {@link stopInterval}. */
  startInterval(): void {
    const { interval_seconds: seconds } = this.options.order;
    if (seconds <= 0) return;
    this.timer = setTimeout(() => {
      this.take('interval').then(
        () => this.timer && this.startInterval(),
        (error: unknown) => this.options.log.warn('a snapshot was not taken', { error: errorText(error) }),
      );
    }, seconds * 1000).unref();
  }

  stopInterval(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private async takeNow(reason: SnapshotReason): Promise<void> {
    const { termination, outbox, log } = this.options;
    if (termination.isFenced) return;
    this.startedAt = performance.now();
    const paused = reason === 'interval' ? pauseMatching(this.options.targets(), MAX_PAUSE_MS) : null;
    try {
      const taken = await this.snapshots.create(reason, () => paused?.resume());
      if (taken === null) return;
      this.changes += 1;
      this.lastFailure = '';
      const { snapshotId, storedBytes } = taken;
      const data = { snapshot_id: snapshotId, reason, stored_bytes: storedBytes, took_ms: this.durationMs };
      log.info('snapshot stored', data);
    } catch (error) {
      if (error instanceof LeaseLostError || termination.isFenced) throw error;
      this.changes += 1;
      const isLimit = error instanceof SnapshotTooLargeError || error instanceof TooManyEntriesError;
      const message = isLimit ? error.message : `The snapshot of the workspace was not stored: ${errorText(error)}`;
      log.warn('a snapshot was not stored', { reason, error: errorText(error) });
      if (message !== this.lastFailure) outbox.push<WorkspaceSnapshotFailed>('workspace_snapshot_failed', { message });
      this.lastFailure = message;
    } finally {
      paused?.resume();
    }
  }

  private get durationMs(): number {
    return Math.round(performance.now() - this.startedAt);
  }

  private async readManifest(snapshotId: string): Promise<SnapshotManifest> {
    const stored = await this.download(() => this.options.plane.getSnapshot(snapshotId));
    if (stored === null) throw new SnapshotDamagedError('The snapshot is not stored any more.');
    return decodeManifest(stored, this.options.order);
  }

  private async sendHeld(): Promise<void> {
    const { held } = this;
    if (held === null) return;
    await this.upload(() => this.options.plane.putSnapshotPack(held.id, [held.content]));
    this.held = null;
  }

  private upload<T>(send: () => Promise<T>): Promise<T> {
    const again = (error: unknown, attempt: number): boolean =>
      attempt + 1 < UPLOAD_TRIES && againUnless(this.options.termination.urgent)(error);
    return retry(send, { firstMs: 200, maxMs: 5_000, again });
  }

  private download<T>(read: () => Promise<T>): Promise<T> {
    return retryTransient(read, { signal: this.options.termination.signal, log: this.options.log });
  }
}

function noticeOf(excluded: readonly string[], problems: readonly string[]): string {
  if (excluded.length === 0 && problems.length === 0) return '';
  const lines = [
    'The files of this workspace were restored from a snapshot, because the earlier session has ended. Processes do not run any more.',
    ...(excluded.length === 0
      ? []
      : [`Not part of the snapshot, because ignore rules exclude them: ${excluded.join(', ')}.`]),
    ...problems,
  ];
  return `[${lines.join(' ')}]\n\n`;
}
