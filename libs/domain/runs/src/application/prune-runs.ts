import { Injectable } from '@nestjs/common';
import { Snapshots } from '#execution/executions';
import { Settings } from '#platform/config';
import { Database, type Queryable } from '#platform/persistence';
import { ObjectDisposal } from '#platform/storage';
import {
  FIRST_RUN_ID,
  type PrunableRun,
  type RetentionKind,
  type RetentionWalk,
  RetentionStore,
  type WalkPosition,
} from '../persistence/retention.store.js';

/**
 * Extension point for libraries that keep data of runs in their tables without a foreign key that deletes it with the run.
 * Registered with {@link RunDataOwners} in the processor; called within the transaction that prunes.
 */
export abstract class RunDataOwner {
  /** The runs are deleted in this transaction. */
  abstract removeRuns(tx: Queryable, runIds: readonly string[]): Promise<void>;

  /** The runs stay; their logs are deleted, and whatever was derived from the logs must be deleted too. */
  abstract removeLogs(tx: Queryable, runIds: readonly string[]): Promise<void>;
}

@Injectable()
export class RunDataOwners {
  readonly all = new Set<RunDataOwner>();

  register(owner: RunDataOwner): void {
    this.all.add(owner);
  }
}

/** Runs looked at in one transaction; pruning one touches some hundred rows. */
const BATCH = 100;

export interface PruneStep {
  readonly pruned: number;
  /** False: nothing is left for now, or another process is at it. */
  readonly hasMore: boolean;
}

const DONE: PruneStep = { pruned: 0, hasMore: false };

/**
 * Retention, in steps of one short transaction each. A step can be broken off anywhere and repeated; several processes
 * may call it at once, of which one does the work. See docs/adr/0010.
 */
@Injectable()
export class PruneRuns {
  constructor(
    private readonly database: Database,
    private readonly store: RetentionStore,
    private readonly owners: RunDataOwners,
    private readonly disposal: ObjectDisposal,
    private readonly snapshots: Snapshots,
    private readonly settings: Settings,
  ) {}

  /** Kinds that the settings limit, whole runs first: what is deleted with them need not be pruned again. */
  get kinds(): readonly RetentionKind[] {
    return (['runs', 'transcripts', 'timelines'] as const).filter((kind) => this.keepMs(kind) !== undefined);
  }

  /** Looks at the next runs. A walk that has come to its end leaves the next one to a later round. */
  async step(kind: RetentionKind): Promise<PruneStep> {
    const keepMs = this.keepMs(kind);
    if (keepMs === undefined) return DONE;
    return this.database.transaction(async (tx) => {
      const walk = await this.store.lock(tx, kind);
      if (!walk) return DONE;
      return walk.until === null ? this.begin(tx, walk, keepMs) : this.continue(tx, walk, walk.until);
    });
  }

  private async begin(tx: Queryable, idle: RetentionWalk, keepMs: number): Promise<PruneStep> {
    const walk = await this.store.begin(tx, idle, keepMs);
    if (walk === null || walk.until === null) return DONE;
    if (walk.kind === 'runs') await this.store.deleteOldIdempotencyKeys(tx, keepMs);
    // What changed since will be met again at its new place, so it leaves the list.
    const held = await this.store.stillOld(tx, walk.revisit, walk.until);
    const { free, pruned } = await this.prune(tx, walk.kind, held, walk.until);
    const revisit = held.filter((id) => !free.has(id));
    await this.store.setRevisit(tx, walk.kind, revisit);
    return { pruned, hasMore: true };
  }

  private async continue(tx: Queryable, walk: RetentionWalk, until: string): Promise<PruneStep> {
    const page = await this.store.page(tx, walk, BATCH);
    const ended = page.filter(({ isEnded }) => isEnded).map(({ id }) => id);
    const { free, pruned } = await this.prune(tx, walk.kind, ended, until);
    const held = ended.filter((id) => !free.has(id));
    if (held.length > 0) await this.store.setRevisit(tx, walk.kind, [...walk.revisit, ...held]);
    const last = page.length === BATCH ? page.at(-1) : undefined;
    const next = last
      ? { slotKey: walk.slotKey, updatedAt: last.updatedAt, runId: last.id }
      : await this.nextOwner(tx, walk);
    if (next) await this.store.setPosition(tx, walk.kind, next);
    else await this.store.end(tx, walk);
    return { pruned, hasMore: next !== null };
  }

  private async nextOwner(tx: Queryable, walk: RetentionWalk): Promise<WalkPosition | null> {
    const slotKey = await this.store.nextOwner(tx, walk);
    return slotKey === null ? null : { slotKey, updatedAt: walk.upto, runId: FIRST_RUN_ID };
  }

  /** `free`: runs that nothing held, whether or not there was anything to prune. */
  private async prune(tx: Queryable, kind: RetentionKind, runIds: readonly string[], until: string) {
    const runs = runIds.length === 0 ? [] : await this.store.lockPrunable(tx, runIds, until);
    const ids = runs.map(({ id }) => id);
    const free = new Set(ids);
    if (ids.length === 0) return { free, pruned: 0 };
    switch (kind) {
      case 'runs':
        // Everything below a folder, whatever points to it: nothing writes there any more. Most runs have none of them,
        // and a folder that is noted has to be looked into.
        await this.disposal.discardBelow(tx, await this.store.foldersOf(tx, ids));
        await this.pruneSnapshots(tx, ids);
        for (const owner of this.owners.all) await owner.removeRuns(tx, ids);
        await this.store.deleteRuns(tx, ids);
        return { free, pruned: ids.length };
      case 'transcripts':
        await this.pruneSnapshots(tx, ids);
        return { free, pruned: await this.pruneTranscripts(tx, runs) };
      case 'timelines':
        for (const owner of this.owners.all) await owner.removeLogs(tx, ids);
        return { free, pruned: await this.store.deleteLogs(tx, ids) };
    }
  }

  private async pruneSnapshots(tx: Queryable, ids: readonly string[]): Promise<void> {
    await this.disposal.discard(tx, await this.snapshots.removeOfRuns(tx, ids));
  }

  private async pruneTranscripts(tx: Queryable, runs: readonly PrunableRun[]): Promise<number> {
    const stored = runs.flatMap(({ id, transcriptKey }) => (transcriptKey === null ? [] : [{ id, transcriptKey }]));
    if (stored.length === 0) return 0;
    const ids = stored.map(({ id }) => id);
    const keys = stored.map(({ transcriptKey }) => transcriptKey);
    await this.store.forgetTranscripts(tx, ids);
    // By its key, not by the folder: a resumed run writes a new one there.
    await this.disposal.discard(tx, keys);
    return stored.length;
  }

  private keepMs(kind: RetentionKind): number | undefined {
    const { retainRuns, retainTranscripts, retainTimelines, idempotencyKeyTtl } = this.settings;
    switch (kind) {
      case 'runs':
        // A run outlives the keys that repeat its creation: such a repetition answers with the run.
        return retainRuns === undefined ? undefined : Math.max(retainRuns, idempotencyKeyTtl);
      case 'transcripts':
        return retainTranscripts;
      case 'timelines':
        return retainTimelines;
    }
  }
}
