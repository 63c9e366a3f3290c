import type { AcceptedDelivery } from '../application/delivery-evaluator.js';
import { Injectable } from '@nestjs/common';
import { Database, statement, writtenRow } from '#platform/persistence';
import { EVALUATION_LEASES_MS, type EvaluationTries } from '../domain/evaluation-retry.js';
import type { WaitingWebhook, WebhookShare } from '../domain/fair-shares.js';

/** The columns of an {@link AcceptedDelivery}, of `webhook_deliveries AS d` and `webhooks AS w`. */
export const ACCEPTED_COLUMNS = `d.id AS "deliveryId", d.identity, d.received_at AS "receivedAt", d.body,
  coalesce(d.headers, '{}') AS headers,
  json_build_object('uid', w.uid, 'name', w.name, 'factoryUid', w.factory_uid, 'teamUid', w.team_uid,
    'signatureScheme', w.signature_scheme) AS webhook`;

export interface ClaimedEvaluation extends AcceptedDelivery {
  readonly webhookId: string;
  readonly tries: EvaluationTries;
  /** The `traceparent` of the span of the request; null: it was not traced. */
  readonly traceContext: string | null;
}

export interface EvaluationRecord {
  readonly delivery: ClaimedEvaluation;
  /** `requeued`: not started within the time slice, and due again immediately. */
  readonly kind: 'evaluated' | 'abandoned' | 'retry' | 'requeued';
  /** As JSON. The evaluation has ended when there are results, which are none when it was abandoned. */
  readonly results?: string;
  readonly error?: string;
  readonly waitMs?: number;
  /** False after lost attempts, without another one, and when the database was unavailable. */
  readonly counts: boolean;
}

const DUE = `outcome = 'A' AND evaluated_at IS NULL AND evaluate_at <= headrace.now()`;

/** A loose index scan from webhook to webhook, independent of the number of deliveries of each. */
const WALK = statement('webhooks.walk-unevaluated')`
  WITH RECURSIVE walk AS (
  (SELECT webhook_id FROM webhook_deliveries WHERE ${DUE} AND webhook_id > $1 ORDER BY webhook_id LIMIT 1)
  UNION ALL
  SELECT next.webhook_id FROM walk CROSS JOIN LATERAL (
    SELECT d.webhook_id FROM webhook_deliveries d WHERE ${DUE} AND d.webhook_id > walk.webhook_id
     ORDER BY d.webhook_id LIMIT 1) next
) SELECT walk.webhook_id AS "webhookId", w.factory_uid AS "factoryUid" FROM (SELECT webhook_id FROM walk LIMIT $2) walk
  JOIN webhooks w ON w.id = walk.webhook_id ORDER BY walk.webhook_id`;

/**
 * Claims deliveries and counts the attempt in one statement. A delivery whose last attempt was lost is claimed alone, so
 * that a delivery that ends the process affects no other one. By ctid, because a plan without statistics would read the
 * whole table. Without synchronous commit: a claim that PostgreSQL loses in a crash does not have to count.
 */
const CLAIM = statement('webhooks.claim-unevaluated')`
  WITH unhurried AS MATERIALIZED (
  SELECT set_config('synchronous_commit', 'off', true)
), candidate AS MATERIALIZED (
  SELECT d.* FROM unhurried CROSS JOIN unnest($1::bigint[], $2::int[]) AS turn (webhook_id, share) CROSS JOIN LATERAL (
    SELECT ctid AS place, id, evaluation_losses AS losses FROM webhook_deliveries
     WHERE webhook_id = turn.webhook_id AND ${DUE} ORDER BY id LIMIT turn.share FOR UPDATE SKIP LOCKED) d
), picked AS (
  SELECT place FROM candidate WHERE NOT EXISTS (SELECT FROM candidate WHERE losses > 0)
  UNION ALL (SELECT place FROM candidate WHERE losses > 0 ORDER BY losses, id LIMIT 1)
)
UPDATE webhook_deliveries d
   SET evaluation_losses = d.evaluation_losses + 1, evaluate_at = headrace.now() + interval '1 millisecond' *
       ('{${EVALUATION_LEASES_MS.join()}}'::int[])[1 + least(d.evaluation_attempts + d.evaluation_losses, ${EVALUATION_LEASES_MS.length - 1})]
  FROM webhooks w
 WHERE d.ctid = ANY (ARRAY(SELECT place FROM picked)) AND w.id = d.webhook_id
RETURNING ${ACCEPTED_COLUMNS}, d.webhook_id AS "webhookId", d.trace_context AS "traceContext",
  json_build_object('failures', d.evaluation_attempts, 'losses', d.evaluation_losses - 1) AS tries`;

/** Only while the claim is valid: after its lease has expired, another process records the result. */
const RECORD = statement('webhooks.record-evaluations')`
  UPDATE webhook_deliveries d
   SET evaluated_at = CASE WHEN r.results IS NOT NULL THEN headrace.now() END,
       results = r.results::jsonb, evaluation_error = r.error,
       evaluation_attempts = d.evaluation_attempts + r.attempts, evaluation_losses = r.losses,
       evaluate_at = headrace.now() + r.wait_ms * interval '1 millisecond'
  FROM unnest($1::bigint[], $2::uuid[], $3::text[], $4::text[], $5::int[], $6::float8[], $7::int[], $8::int[])
    AS r (webhook_id, id, results, error, attempts, wait_ms, losses, failures)
 WHERE d.webhook_id = r.webhook_id AND d.id = r.id AND d.evaluated_at IS NULL
   AND d.evaluation_losses = r.losses + 1 AND d.evaluation_attempts = r.failures
RETURNING CASE WHEN r.results IS NOT NULL THEN extract(epoch FROM headrace.now() - d.received_at)::float8 END AS lag`;

@Injectable()
export class EvaluationsStore {
  constructor(private readonly database: Database) {}

  /**
   * Deliveries that are not evaluated yet, due or not, and the time since the oldest of them was received, in seconds. Counts up to
   * `most`, so that the cost is bounded.
   */
  async waiting(most: number): Promise<{ readonly deliveries: number; readonly oldestSeconds: number }> {
    return writtenRow(
      await this.database.query<{ deliveries: number; oldestSeconds: number }>(
        `SELECT count(*)::int AS deliveries,
                coalesce(greatest(0, extract(epoch FROM headrace.now() - min(received_at))), 0)::float8 AS "oldestSeconds"
           FROM (SELECT received_at FROM webhook_deliveries WHERE outcome = 'A' AND evaluated_at IS NULL LIMIT $1) AS waiting`,
        [most],
      ),
    );
  }

  /** Webhooks with due deliveries, ordered by id, after `after`. */
  webhooksWaiting(after: string, limit: number): Promise<WaitingWebhook[]> {
    return this.database.query(WALK, [after, limit]);
  }

  async claim(turns: readonly WebhookShare[]): Promise<ClaimedEvaluation[]> {
    const claimed = await this.database.query<ClaimedEvaluation>(CLAIM, [
      turns.map(({ webhookId }) => webhookId),
      turns.map(({ share }) => share),
    ]);
    return claimed.sort((one, other) => (one.deliveryId < other.deliveryId ? -1 : 1));
  }

  /** Returns the seconds since each delivery was received whose evaluation has ended. */
  async record(records: readonly EvaluationRecord[]): Promise<number[]> {
    const rows = await this.database.query<{ lag: number | null }>(RECORD, [
      records.map(({ delivery }) => delivery.webhookId),
      records.map(({ delivery }) => delivery.deliveryId),
      records.map(({ results = null }) => results),
      records.map(({ error = null }) => error),
      records.map(({ counts }) => (counts ? 1 : 0)),
      records.map(({ waitMs = 0 }) => waitMs),
      records.map(({ delivery }) => delivery.tries.losses),
      records.map(({ delivery }) => delivery.tries.failures),
    ]);
    return rows.flatMap(({ lag }) => lag ?? []);
  }
}
