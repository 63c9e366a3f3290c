import { Injectable } from '@nestjs/common';
import { ExecutionsStore, lastMessage, RunTransitions } from '#execution/executions';
import { type ChildRun, MAX_CHILD_ARTIFACTS, MAX_CHILD_RESULT } from '#execution/runner-protocol';
import { Settings } from '#platform/config';
import { Database, type Queryable, statement } from '#platform/persistence';
import type { RunMode } from '../domain/run.js';
import { type KeyedRun, type NewRun, RunInserts, type ScopedClaim } from './run-inserts.js';

/** The execution whose agent starts a run. */
export interface ParentExecution {
  readonly runId: string;
  readonly executionId: string;
  readonly leaseEpoch: number;
}

export type ChildRunResult = KeyedRun | { readonly kind: 'limited'; readonly detail: string };

const ACTIVE = `('QUEUED', 'PENDING', 'CLAIMED', 'INPROGRESS', 'BLOCKED')`;
/** Of a run without a parent and all runs below it. Runs are only added under this lock, so that none is missed in the count. */
const LOCK_TREE = statement('child-runs.lock-tree')`
  SELECT pg_advisory_xact_lock(hashtextextended('runs below ' || $1::text, 0))`;
const COUNT = statement('child-runs.count')`
  SELECT count(*)::float8 AS started, (count(*) FILTER (WHERE c.state IN ${ACTIVE}))::float8 AS active,
    (SELECT count(*)::float8 FROM run_facets f
      WHERE f.tokens @> ARRAY[headrace.run_token($2, 'ancestor_run_id', $3)]) AS below
  FROM runs c WHERE c.parent_run_id = $1 AND c.started_by_run`;

/** Runs `c` that run `$1` or a run below it has started. */
const STARTED_BELOW = `c.started_by_run AND c.ancestor_run_ids @> ARRAY[$1::uuid]
  AND c.slot_key = (SELECT p.slot_key FROM runs p WHERE p.id = $1)`;
/** The text of a run from outside is part of what `$1` reads from now on, so `$1` is one too. In one statement: what is read is never newer than the mark. */
const READ = statement('child-runs.read')`
  WITH c AS MATERIALIZED (SELECT c.id, c.title, c.state, c.status_message, c.from_outside FROM runs c
    WHERE c.id = ANY ($2::uuid[]) AND ${STARTED_BELOW}
  ), marked AS (
    UPDATE runs SET from_outside = true WHERE id = $1 AND NOT from_outside AND EXISTS (SELECT 1 FROM c WHERE c.from_outside)
  )
  SELECT json_strip_nulls(json_build_object('run_id', c.id, 'title', c.title, 'state', c.state, 'has_ended', c.state NOT IN ${ACTIVE},
      'status_message', left(c.status_message->>'message', 1000),
      'result', CASE WHEN c.state NOT IN ${ACTIVE} THEN ${lastMessage('c.id', 'coalesce((SELECT h.last_seq FROM run_heads h WHERE h.run_id = c.id), 1)', String(MAX_CHILD_RESULT))} END,
      'artifacts', coalesce((SELECT json_agg(json_build_object('artifact_type', a.artifact_type,
          'title', left(coalesce(a.data->>'title', a.data->>'filename'), 256), 'status', a.data->>'status',
          'url', CASE WHEN a.artifact_type IN ('PULL_REQUEST', 'EXTERNAL_REFERENCE') THEN a.data->>'url' END) ORDER BY a.created_at, a.uid)
        FROM (SELECT * FROM artifacts WHERE run_id = c.id ORDER BY created_at DESC, uid DESC LIMIT ${MAX_CHILD_ARTIFACTS}) a), '[]'))) AS run
  FROM c ORDER BY array_position($2::uuid[], c.id)`;
const ARE_BELOW = statement('child-runs.are-below')`
  SELECT c.id FROM runs c WHERE c.id = ANY ($2::uuid[]) AND ${STARTED_BELOW}`;
const FIND_ACTIVE = statement('child-runs.find-active')`
  SELECT id FROM runs WHERE parent_run_id = $1 AND started_by_run AND state IN ${ACTIVE} ORDER BY created_at, id LIMIT $2`;
const IS_FROM_OUTSIDE = statement('child-runs.is-from-outside')`SELECT from_outside AS found FROM runs WHERE id = $1`;
const LAST_MODE = statement('child-runs.last-mode')`
  SELECT mode FROM run_followups WHERE run_id = $1 AND mode IS NOT NULL ORDER BY position DESC LIMIT 1`;
const MAX_ORPHANS = 100;
/** `$1`: also on self-hosted workers. `$2`: only those after it. A person may continue a run after the end of its parent. */
const ORPHANS = statement('child-runs.orphans')`
  SELECT c.id FROM runs c JOIN runs p ON p.id = c.parent_run_id
   WHERE c.started_by_run AND c.state IN ${ACTIVE} AND p.state = 'CANCELLED' AND ($1 OR c.pool = 'hosted')
     AND NOT EXISTS (SELECT 1 FROM run_followups f WHERE f.run_id = c.id AND f.created_at > p.finished_at)
     AND ($2::uuid IS NULL OR c.id > $2) ORDER BY c.id LIMIT ${MAX_ORPHANS}`;

/** Runs that agents of other runs have started. */
@Injectable()
export class ChildRunsStore {
  constructor(
    private readonly database: Database,
    private readonly inserts: RunInserts,
    private readonly transitions: RunTransitions,
    private readonly executions: ExecutionsStore,
    private readonly settings: Settings,
  ) {}

  /** Counts and inserts under the locks of the parent and of its tree, so that two requests never exceed a limit together. */
  async insert(run: NewRun, claim: ScopedClaim | null, parent: ParentExecution): Promise<ChildRunResult> {
    const result = await this.database.transaction(async (tx): Promise<ChildRunResult | null> => {
      // A run that is cancelled meanwhile is cancelled before or after: what it starts before is cancelled with it.
      const locked = await this.transitions.lock(tx, parent.runId);
      const execution = await this.executions.lock(tx, parent.executionId);
      const isWorking = locked?.state === 'INPROGRESS' || locked?.state === 'BLOCKED';
      const isHeld = execution?.lease_epoch === parent.leaseEpoch && execution.desired === 'run';
      if (!isWorking || !isHeld) return { kind: 'limited', detail: 'This run has ended or is being stopped.' };
      await tx.query(LOCK_TREE, [topOf(run)]);
      if (claim && (await this.inserts.find(claim, tx))) return null;
      const reached = await this.reachedLimit(tx, run);
      if (reached !== null) return { kind: 'limited', detail: reached };
      const inserted = await this.inserts.insertIn(tx, run, claim);
      return inserted && { kind: 'created', runId: run.id, state: 'QUEUED', ...inserted };
    });
    const known = result ?? (claim && (await this.inserts.find(claim)));
    if (!known) throw new Error('The key of a run is taken by a run that does not exist.');
    return known;
  }

  private async reachedLimit(tx: Queryable, run: NewRun): Promise<string | null> {
    const { maxChildRuns, maxActiveChildRuns, maxDescendantRuns } = this.settings;
    const [row] = await tx.query<{ started: number; active: number; below: number }>(COUNT, [
      run.parent_run_id,
      run.slot_key,
      topOf(run),
    ]);
    const { started = 0, active = 0, below = 0 } = row ?? {};
    if (started >= maxChildRuns)
      return `This run has started ${started} runs, and the limit (MAX_CHILD_RUNS) is ${maxChildRuns}.`;
    if (active >= maxActiveChildRuns)
      return `${active} runs that this run has started have not ended, and the limit (MAX_ACTIVE_CHILD_RUNS) is ${maxActiveChildRuns}. Wait for one of them with wait_for_runs.`;
    if (below >= maxDescendantRuns)
      return `There are ${below} runs below the first run, and the limit (MAX_DESCENDANT_RUNS) is ${maxDescendantRuns}.`;
    return null;
  }

  /** In the order of `ids`; what `runId` or a run below it has not started is left out. `runId` is from outside if one of them is. One round trip. */
  async read(runId: string, ids: readonly string[]): Promise<ChildRun[]> {
    const rows = await this.database.query<{ run: ChildRun }>(READ, [runId, ids]);
    return rows.map(({ run }) => run);
  }

  /** Those that `runId` or a run below it has started. */
  async startedBelow(runId: string, ids: readonly string[]): Promise<ReadonlySet<string>> {
    const rows = await this.database.query<{ id: string }>(ARE_BELOW, [runId, ids]);
    return new Set(rows.map(({ id }) => id));
  }

  /** The oldest ones that `runId` has started and that have not ended. */
  async findActive(runId: string, max: number): Promise<string[]> {
    const rows = await this.database.query<{ id: string }>(FIND_ACTIVE, [runId, max]);
    return rows.map(({ id }) => id);
  }

  /** Whether text from outside can be part of what the agent of the run reads. */
  async isFromOutside(runId: string): Promise<boolean> {
    const [row] = await this.database.query<{ found: boolean }>(IS_FROM_OUTSIDE, [runId]);
    return row?.found ?? true;
  }

  /** In which the newest message has started a turn; null: no message names one. */
  async lastMode(runId: string): Promise<RunMode | null> {
    const [row] = await this.database.query<{ mode: RunMode }>(LAST_MODE, [runId]);
    return row?.mode ?? null;
  }

  /** Active runs whose parent was cancelled and that nobody has continued since. Also finds runs after those that cannot be cancelled. */
  async *findOrphans(): AsyncGenerator<string> {
    for (let after: string | null = null; ;) {
      const rows: { id: string }[] = await this.database.query(ORPHANS, [this.settings.selfHostedCancel, after]);
      for (const { id } of rows) yield id;
      if (rows.length < MAX_ORPHANS) return;
      after = rows.at(-1)?.id ?? null;
    }
  }
}

const topOf = ({ ancestor_run_ids: [top] }: NewRun): string => top ?? '';
