import { Injectable } from '@nestjs/common';
import { Database, type Queryable, type Statement } from '#libs/persistence';
import type { AcceptedDelivery } from '../application/ports.js';
import type { WaitingWebhook, WebhookTurn } from '../domain/evaluation-turns.js';
import { writeResults } from './automation-results.js';

export interface WaitingDelivery extends AcceptedDelivery {
  readonly webhookId: string;
  /** Attempts that failed. */
  readonly attempts: number;
}

/** How the evaluation of one delivery went. */
export type EvaluationRecord = { readonly delivery: WaitingDelivery } & (
  | { readonly kind: 'evaluated'; readonly resultsJson: string }
  | { readonly kind: 'given_up'; readonly error: string }
  | { readonly kind: 'retry'; readonly waitMs: number; readonly counts: boolean }
);

interface Row {
  webhook_id: string;
  id: string;
  identity: string;
  received_at: Date;
  body: Buffer;
  headers: Record<string, string> | null;
  evaluation_attempts: number;
  uid: string;
  name: string;
  factory_uid: string;
  team_uid: string;
}

const DUE = `outcome = 'A' AND evaluated_at IS NULL AND evaluate_at <= headrace.now()`;

/** From webhook to webhook by the index, however many deliveries each has waiting. */
const WALK: Statement = {
  name: 'webhooks.walk-unevaluated',
  text: `WITH RECURSIVE walk AS (
  (SELECT webhook_id FROM webhook_deliveries WHERE ${DUE} AND webhook_id > $1 ORDER BY webhook_id LIMIT 1)
  UNION ALL
  SELECT next.webhook_id FROM walk CROSS JOIN LATERAL (
    SELECT d.webhook_id FROM webhook_deliveries d WHERE ${DUE} AND d.webhook_id > walk.webhook_id
     ORDER BY d.webhook_id LIMIT 1) next
) SELECT walk.webhook_id, w.factory_uid FROM (SELECT webhook_id FROM walk LIMIT $2) walk
  JOIN webhooks w ON w.id = walk.webhook_id ORDER BY walk.webhook_id`,
};

const TAKE: Statement = {
  name: 'webhooks.take-unevaluated',
  text: `SELECT d.*, w.uid, w.name, w.factory_uid, w.team_uid FROM unnest($1::bigint[], $2::int[]) AS turn (webhook_id, share)
  JOIN webhooks w ON w.id = turn.webhook_id CROSS JOIN LATERAL (
    SELECT webhook_id, id, identity, received_at, body, headers, evaluation_attempts FROM webhook_deliveries
     WHERE webhook_id = w.id AND ${DUE} ORDER BY id LIMIT turn.share FOR UPDATE SKIP LOCKED) d`,
};

const RECORD: Statement = {
  name: 'webhooks.record-evaluations',
  text: `UPDATE webhook_deliveries d
   SET evaluated_at = CASE WHEN r.results IS NOT NULL THEN headrace.now() END,
       results = r.results::jsonb, evaluation_error = r.error,
       evaluation_attempts = d.evaluation_attempts + r.attempts,
       evaluate_at = headrace.now() + r.wait_ms * interval '1 millisecond'
  FROM unnest($1::bigint[], $2::uuid[], $3::text[], $4::text[], $5::int[], $6::float8[])
    AS r (webhook_id, id, results, error, attempts, wait_ms)
 WHERE d.webhook_id = r.webhook_id AND d.id = r.id AND d.evaluated_at IS NULL`,
};

@Injectable()
export class EvaluationsStore {
  constructor(private readonly database: Database) {}

  /** Webhooks with deliveries that are due, by id from the one after `after`. */
  async webhooksWaiting(after: string, limit: number): Promise<WaitingWebhook[]> {
    const rows = await this.database.query<{ webhook_id: string; factory_uid: string }>(WALK, [after, limit]);
    return rows.map((row) => ({ webhookId: row.webhook_id, factoryUid: row.factory_uid }));
  }

  /** Of each webhook its share, the oldest first; nobody else gets them until the transaction ends. */
  async take(tx: Queryable, turns: readonly WebhookTurn[]): Promise<WaitingDelivery[]> {
    const rows = await tx.query<Row>(TAKE, [turns.map(({ webhookId }) => webhookId), turns.map(({ share }) => share)]);
    return rows.map((row) => ({
      webhookId: row.webhook_id,
      deliveryId: row.id,
      webhook: { uid: row.uid, name: row.name, factoryUid: row.factory_uid, teamUid: row.team_uid },
      identity: row.identity,
      receivedAt: row.received_at,
      body: row.body,
      headers: row.headers ?? {},
      attempts: row.evaluation_attempts,
    }));
  }

  /** `elapsedMs`: since the transaction began, whose time is all that SQL knows. */
  async record(tx: Queryable, records: readonly EvaluationRecord[], elapsedMs: number): Promise<void> {
    await tx.query(RECORD, [
      records.map(({ delivery }) => delivery.webhookId),
      records.map(({ delivery }) => delivery.deliveryId),
      records.map(resultsOf),
      records.map((record) => (record.kind === 'given_up' ? record.error : null)),
      records.map((record) => (record.kind === 'retry' && !record.counts ? 0 : 1)),
      records.map((record) => (record.kind === 'retry' ? record.waitMs + elapsedMs : 0)),
    ]);
  }
}

function resultsOf(record: EvaluationRecord): string | null {
  switch (record.kind) {
    case 'evaluated':
      return record.resultsJson;
    case 'given_up':
      return writeResults([]);
    case 'retry':
      return null;
  }
}
