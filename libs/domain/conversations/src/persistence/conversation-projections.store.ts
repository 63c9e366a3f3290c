import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Database, type Queryable, statement } from '#platform/persistence';
import { RunDataOwner, RunDataOwners } from '#domain/runs';
import { RunTail } from '#execution/executions';
import type {
  ConversationProjection,
  ConversationNormalizer,
  StoredProjection,
} from '../domain/conversation-normalizer.js';

const LOAD = statement('conversation-projections.load')`
  SELECT upto_seq AS seq, fold AS step FROM conversation_folds
 WHERE run_id = $1 AND format = $2 AND format_version = $3 ORDER BY turn`;

/** Several readers may store at the same time: for each step the newest projection is kept. */
const SAVE = statement('conversation-projections.save')`
  WITH outdated AS (
  DELETE FROM conversation_folds WHERE run_id = $1 AND format = $2 AND format_version < $3
)
INSERT INTO conversation_folds AS f (run_id, format, format_version, turn, upto_seq, fold)
SELECT $1, $2, $3, $5::int + s.ord - 1, $4, s.fold::jsonb FROM unnest($6::text[]) WITH ORDINALITY AS s (fold, ord) ORDER BY s.ord
ON CONFLICT (run_id, format, format_version, turn) DO UPDATE SET upto_seq = excluded.upto_seq, fold = excluded.fold
 WHERE f.upto_seq < excluded.upto_seq`;

type ProjectionVersion = Pick<ConversationNormalizer, 'format' | 'version'>;

/** Projections of conversations, one row a top-level step: a cache of the log, deleted with it. */
@Injectable()
export class ConversationProjectionStore extends RunDataOwner implements OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly log: RunTail,
    private readonly owners: RunDataOwners,
  ) {
    super();
  }

  onModuleInit(): void {
    this.owners.register(this);
  }

  async load(runId: string, { format, version }: ProjectionVersion): Promise<StoredProjection> {
    const rows = await this.database.query<{ seq: string; step: unknown }>(LOAD, [runId, format, version]);
    // A save omits the steps that have not changed, so that all rows are valid at the highest sequence number.
    return {
      seq: rows.reduce((furthest, { seq }) => Math.max(furthest, Number(seq)), 0),
      steps: rows.map(({ step }) => step),
    };
  }

  /**
   * Stores nothing when retention has deleted the log, or its beginning, since it was read: the projection would keep
   * what was to be deleted.
   */
  async save(runId: string, { format, version }: ProjectionVersion, projection: ConversationProjection): Promise<void> {
    const { state, changedFrom } = projection;
    const steps = state.steps.slice(changedFrom).map((step) => JSON.stringify(step));
    if (steps.length === 0) return;
    await this.database.transaction(async (tx) => {
      if (await this.log.holdWhole(tx, runId))
        await tx.query(SAVE, [runId, format, version, state.seq, changedFrom, steps]);
    });
  }

  override removeRuns(tx: Queryable, runIds: readonly string[]): Promise<void> {
    return this.removeLogs(tx, runIds);
  }

  override async removeLogs(tx: Queryable, runIds: readonly string[]): Promise<void> {
    await tx.query(`DELETE FROM conversation_folds WHERE run_id = ANY($1::uuid[])`, [runIds]);
  }
}
