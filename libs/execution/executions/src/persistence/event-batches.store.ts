import { Injectable } from '@nestjs/common';
import type { BatchAck } from '#execution/runner-protocol';
import { Settings } from '#platform/config';
import { Database, GroupedStatement, statement } from '#platform/persistence';
import { OutputQuota } from '../domain/output-quota.js';
import { leaseGraceMs, workerGraceMs } from '../domain/lease.js';
import type { NewRunEvent } from '../domain/run.js';
import { leased, leaseEnd } from './executions.store.js';

/** Events of one execution that change neither the run nor the execution. */
export interface EventBatch {
  readonly executionId: string;
  readonly leaseEpoch: number;
  /** Number of the first event; the others follow it without a gap. */
  readonly firstSeq: number;
  readonly events: readonly NewRunEvent[];
  /** As {@link OutputQuota} counts them. */
  readonly bytes: number;
}

/**
 * Locks the executions in one order, and leaves out what is locked, ended, fenced, out of sequence or beyond its limit. `$1`: a
 * JSON array; `$2`: bytes that an execution may have reported; `$3`, `$4`: see {@link leaseEnd}.
 */
const APPEND = statement('event-batches.append')`
WITH input AS MATERIALIZED (
  SELECT * FROM json_to_recordset($1::json)
    AS i (ord int, execution_id bigint, lease_epoch int, first_seq bigint, count int, bytes bigint, events json)
), held AS MATERIALIZED (
  SELECT i.ord, i.execution_id, i.first_seq, i.count, i.bytes, i.events, e.run_id, e.desired
    FROM input i JOIN executions e ON ${leased('i.execution_id', 'i.lease_epoch')}
   WHERE e.acked_seq = i.first_seq - 1 AND e.output_bytes + i.bytes <= $2
   ORDER BY e.id FOR UPDATE OF e SKIP LOCKED
), heads AS (
  INSERT INTO run_heads AS h (run_id, last_seq) SELECT run_id, 1 + count FROM held
  ON CONFLICT (run_id) DO UPDATE SET last_seq = h.last_seq + excluded.last_seq - 1 RETURNING h.run_id, h.last_seq
), logged AS (
  INSERT INTO run_events (run_id, seq, execution_id, kind, at, data)
  SELECT held.run_id, heads.last_seq - held.count + v.ord, held.execution_id, v.event->>'kind', headrace.now(), (v.event->'data')::jsonb
    FROM held JOIN heads USING (run_id) CROSS JOIN LATERAL json_array_elements(held.events) WITH ORDINALITY AS v (event, ord)
), acknowledged AS (
  UPDATE executions SET acked_seq = held.first_seq + held.count - 1, output_bytes = executions.output_bytes + held.bytes,
      lease_expires_at = ${leaseEnd('$3', '$4')}
    FROM held WHERE executions.id = held.execution_id
)
SELECT ord, (first_seq + count - 1)::float8 AS acked_seq, desired FROM held`;

type Appended = BatchAck & { readonly ord: number };

/**
 * Stores batches of events that several runners report at the same time with one statement and one commit. Most batches are such:
 * what an agent says, and the output of its tools.
 */
@Injectable()
export class EventBatchesStore {
  private readonly groups: GroupedStatement<EventBatch, BatchAck | null>;
  private readonly limitBytes: number;

  constructor(database: Database, { leaseTtl, maxOutputBytes }: Settings) {
    this.limitBytes = new OutputQuota(maxOutputBytes, 0).limitBytes;
    const graces = [leaseGraceMs(leaseTtl), workerGraceMs(leaseTtl)];
    this.groups = new GroupedStatement<EventBatch, BatchAck | null>(
      async (batches) => {
        // A batch that was repeated before its answer: the first one is stored, and the other one finds it stored.
        const first = new Map(batches.map((batch, ord) => [batch.executionId, ord] as const).toReversed());
        const input = batches.flatMap(({ executionId, leaseEpoch, firstSeq, events, bytes }, ord) =>
          first.get(executionId) === ord
            ? [
                {
                  ord,
                  execution_id: executionId,
                  lease_epoch: leaseEpoch,
                  first_seq: firstSeq,
                  count: events.length,
                  bytes,
                  events,
                },
              ]
            : [],
        );
        const rows = await database.query<Appended>(APPEND, [JSON.stringify(input), this.limitBytes, ...graces]);
        const appended = new Map(rows.map(({ ord, acked_seq, desired }) => [ord, { acked_seq, desired }]));
        return batches.map((_batch, ord) => appended.get(ord) ?? null);
      },
      { maxGroup: 64, maxInFlight: 2 },
    );
  }

  /** Null: nothing was stored, and the batch needs a transaction, which finds out why. */
  append(batch: EventBatch): Promise<BatchAck | null> {
    return batch.bytes > this.limitBytes ? Promise.resolve(null) : this.groups.execute(batch);
  }
}
