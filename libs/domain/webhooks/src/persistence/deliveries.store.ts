import { toStorableJson } from '#platform/kernel';
import {
  type AutomationResult,
  DELIVERY_OUTCOMES,
  type DeliveryOutcome,
  type LoggedDelivery,
  OUTCOME_CODES,
  type OutcomeCode,
  type StoredResult,
} from '../domain/delivery.js';
import { Injectable } from '@nestjs/common';
import { currentTraceparent } from '#platform/observability';
import { Database, type Queryable, type Statement } from '#platform/persistence';

/** As JSON that PostgreSQL accepts: reasons quote payloads, which may contain NUL characters or lone surrogates. */
export function writeResults(results: readonly AutomationResult[]): string {
  const stored = results.map(({ automationUid, matched, runId, reason }): StoredResult => ({
    automation_uid: automationUid,
    matched,
    ...(runId !== undefined && { run_id: runId }),
    reason,
  }));
  return JSON.stringify(toStorableJson(stored).value);
}

type Row = Omit<LoggedDelivery, 'outcome' | 'evaluation'> & {
  readonly outcome: OutcomeCode;
  readonly evaluatedAt: Date | null;
  readonly results: StoredResult[] | null;
  readonly resultCount: number | null;
  readonly error: string | null;
};

const columns = (results: string): string =>
  `id, outcome, identity, duplicate_of AS "duplicateOf", redelivery_of AS "redeliveryOf",
  coalesce(identity_kind = 'test', false) AS "isTest", occurrences,
  size_bytes AS "sizeBytes", received_at AS "receivedAt", source_ip AS "sourceIp", headers, evaluated_at AS "evaluatedAt",
  ${results} AS results, jsonb_array_length(results) AS "resultCount", evaluation_error AS error`;
const COLUMNS = columns('results');
/** Results of a delivery in a list; those of automations that matched come first. */
const LISTED_RESULTS = 100;
const LISTED_COLUMNS = columns(`CASE WHEN jsonb_array_length(results) <= ${LISTED_RESULTS} THEN results ELSE (
    SELECT jsonb_agg(r ORDER BY m DESC, n) FROM (
      SELECT r, n, (r->'matched')::boolean AS m FROM jsonb_array_elements(results) WITH ORDINALITY AS e (r, n)
       ORDER BY (r->'matched')::boolean DESC, n LIMIT ${LISTED_RESULTS}) AS shown) END`);
/** Above every id. */
const NEWEST = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

const pageWhere = (condition: string): string =>
  `SELECT ${LISTED_COLUMNS} FROM webhook_deliveries WHERE webhook_id = $1 AND id < $2${condition} ORDER BY id DESC LIMIT $3`;

/** Each label has its own index; accepted deliveries move to another index when they are evaluated. */
function listStatement(outcome: DeliveryOutcome | null): Statement {
  if (outcome === null) return { name: 'webhooks.list-deliveries', text: pageWhere('') };
  const code = OUTCOME_CODES[outcome];
  const name = `webhooks.list-deliveries-${code}`;
  if (code !== 'A') return { name, text: pageWhere(` AND outcome = '${code}'`) };
  const [waiting, evaluated] = ['NULL', 'NOT NULL'].map((state) =>
    pageWhere(` AND outcome = 'A' AND evaluated_at IS ${state}`),
  );
  return { name, text: `(${waiting}) UNION ALL (${evaluated}) ORDER BY id DESC LIMIT $3` };
}

const LISTS = new Map([null, ...DELIVERY_OUTCOMES].map((outcome) => [outcome, listStatement(outcome)]));
const LABELS = new Map<OutcomeCode, DeliveryOutcome>(
  DELIVERY_OUTCOMES.map((outcome) => [OUTCOME_CODES[outcome], outcome]),
);

@Injectable()
export class DeliveriesStore {
  constructor(private readonly database: Database) {}

  /** Newest first; `before` is the id of the last delivery of the previous page. */
  async list(
    webhookId: string,
    outcome: DeliveryOutcome | null,
    limit: number,
    before: string | null = null,
  ): Promise<LoggedDelivery[]> {
    const statement = LISTS.get(outcome) ?? listStatement(outcome);
    const rows = await this.database.query<Row>(statement, [webhookId, before ?? NEWEST, limit]);
    return rows.map(toDelivery);
  }

  async find(webhookId: string, id: string): Promise<{ delivery: LoggedDelivery; payload: Buffer | null } | null> {
    const [row] = await this.database.query<Row & { payload: Buffer | null }>(
      `SELECT ${COLUMNS}, body AS payload FROM webhook_deliveries WHERE webhook_id = $1 AND id = $2`,
      [webhookId, id],
    );
    if (!row) return null;
    const { payload, ...delivery } = row;
    return { delivery: toDelivery(delivery), payload };
  }

  /** The label; null for a handshake. */
  async outcomeOf(webhookId: string, id: string): Promise<DeliveryOutcome | null | 'unknown'> {
    const [row] = await this.database.query<{ outcome: OutcomeCode }>(
      'SELECT outcome FROM webhook_deliveries WHERE webhook_id = $1 AND id = $2',
      [webhookId, id],
    );
    return row ? (LABELS.get(row.outcome) ?? null) : 'unknown';
  }

  /** Serializes the redeliveries of a webhook; deliveries of its sender do not wait. Null when it is deleted. */
  async lockWebhook(tx: Queryable, webhookId: string): Promise<{ enabled: boolean } | null> {
    const [row] = await tx.query<{ enabled: boolean }>(
      'SELECT enabled FROM webhooks WHERE id = $1 AND deleted_at IS NULL FOR NO KEY UPDATE',
      [webhookId],
    );
    return row ?? null;
  }

  /** Milliseconds until fewer than `limit` redeliveries and tests lie within `windowMs`; 0 when another one is allowed now. */
  async requestWaitMs(tx: Queryable, webhookId: string, limit: number, windowMs: number): Promise<number> {
    const [row] = await tx.query<{ wait_ms: number }>(
      `SELECT extract(epoch FROM received_at + $3 * interval '1 millisecond' - headrace.now())::float8 * 1000 AS wait_ms
         FROM webhook_deliveries WHERE webhook_id = $1 AND identity_kind IN ('redelivery', 'test')
        ORDER BY id DESC OFFSET $2 - 1 LIMIT 1`,
      [webhookId, limit, windowMs],
    );
    return Math.max(0, row?.wait_ms ?? 0);
  }

  /** False when `repeated` is not an accepted delivery of the webhook. */
  async insertRedelivery(tx: Queryable, webhookId: string, id: string, repeated: string): Promise<boolean> {
    const rows = await tx.query(
      `INSERT INTO webhook_deliveries (webhook_id, id, outcome, identity_kind, identity, redelivery_of, size_bytes,
         received_at, source_ip, headers, body, trace_context)
       SELECT webhook_id, $2::uuid, 'A', 'redelivery', $2::uuid::text, id, size_bytes, headrace.now(), source_ip, headers, body, $4
         FROM webhook_deliveries WHERE webhook_id = $1 AND id = $3 AND outcome = 'A' RETURNING 1`,
      [webhookId, id, repeated, currentTraceparent()],
    );
    return rows.length > 0;
  }

  async insertTest(
    tx: Queryable,
    webhookId: string,
    id: string,
    { body, sourceIp }: { readonly body: Buffer; readonly sourceIp: string },
  ): Promise<void> {
    await tx.query(
      `INSERT INTO webhook_deliveries (webhook_id, id, outcome, identity_kind, identity, size_bytes, received_at, source_ip,
         headers, body, trace_context)
       VALUES ($1, $2::uuid, 'A', 'test', $2::uuid::text, $3, headrace.now(), $4, '{"content-type": "application/json"}', $5, $6)`,
      [webhookId, id, body.length, sourceIp, body, currentTraceparent()],
    );
  }
}

const toDelivery = ({ outcome, evaluatedAt, results, resultCount, error, ...row }: Row): LoggedDelivery => ({
  ...row,
  outcome: LABELS.get(outcome) ?? null,
  evaluation: evaluatedAt && { results: results ?? [], resultCount: resultCount ?? 0, error },
});
