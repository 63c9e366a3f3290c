import { Injectable } from '@nestjs/common';
import { Database, type Statement } from '#platform/persistence';
import { DELIVERY_OUTCOMES, type DeliveryOutcome, OUTCOME_CODES, type OutcomeCode } from '../domain/delivery.js';
import type { LoggedDelivery } from '../domain/logged-delivery.js';
import { readResults, type StoredResult } from './automation-results.js';

interface Row {
  id: string;
  outcome: OutcomeCode;
  identity: string | null;
  duplicate_of: string | null;
  redelivery_of: string | null;
  occurrences: number;
  size_bytes: number;
  received_at: Date;
  source_ip: string;
  headers: Record<string, string> | null;
  evaluated_at: Date | null;
  results: StoredResult[] | null;
  result_count: number | null;
  evaluation_error: string | null;
}

const columns = (results: string): string =>
  `id, outcome, identity, duplicate_of, redelivery_of, occurrences, size_bytes, received_at, source_ip,
  headers, evaluated_at, ${results} AS results, jsonb_array_length(results) AS result_count, evaluation_error`;
const COLUMNS = columns('results');
/** A list shows so many results of a delivery, those of automations that matched first. */
const LISTED_RESULTS = 100;
const LISTED_COLUMNS = columns(`CASE WHEN jsonb_array_length(results) <= ${LISTED_RESULTS} THEN results ELSE (
    SELECT jsonb_agg(r ORDER BY m DESC, n) FROM (
      SELECT r, n, (r->'matched')::boolean AS m FROM jsonb_array_elements(results) WITH ORDINALITY AS e (r, n)
       ORDER BY (r->'matched')::boolean DESC, n LIMIT ${LISTED_RESULTS}) AS shown) END`);
/** Above every id. */
const NEWEST = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

const pageWhere = (condition: string): string =>
  `SELECT ${LISTED_COLUMNS} FROM webhook_deliveries WHERE webhook_id = $1 AND id < $2${condition} ORDER BY id DESC LIMIT $3`;

/** Each label has an index of its own; accepted ones change from one to another when they are evaluated. */
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

  /** Newest first; `before` is the id of the last one of the page before. */
  async list(
    webhookId: string,
    { outcome, before, limit }: { outcome: DeliveryOutcome | null; before: string | null; limit: number },
  ): Promise<LoggedDelivery[]> {
    const statement = LISTS.get(outcome) ?? listStatement(outcome);
    const rows = await this.database.query<Row>(statement, [webhookId, before ?? NEWEST, limit]);
    return rows.map(toDelivery);
  }

  /** `payload`: the bytes that were sent, of an accepted one. */
  async find(webhookId: string, id: string): Promise<{ delivery: LoggedDelivery; payload: Buffer | null } | null> {
    const [row] = await this.database.query<Row & { body: Buffer | null }>(
      `SELECT ${COLUMNS}, body FROM webhook_deliveries WHERE webhook_id = $1 AND id = $2`,
      [webhookId, id],
    );
    return row ? { delivery: toDelivery(row), payload: row.body } : null;
  }

  /** Its label; null for a handshake. */
  async outcomeOf(webhookId: string, id: string): Promise<DeliveryOutcome | null | 'unknown'> {
    const [row] = await this.database.query<{ outcome: OutcomeCode }>(
      'SELECT outcome FROM webhook_deliveries WHERE webhook_id = $1 AND id = $2',
      [webhookId, id],
    );
    return row ? (LABELS.get(row.outcome) ?? null) : 'unknown';
  }
}

const toDelivery = (row: Row): LoggedDelivery => ({
  id: row.id,
  outcome: LABELS.get(row.outcome) ?? null,
  identity: row.identity,
  duplicateOf: row.duplicate_of,
  redeliveryOf: row.redelivery_of,
  occurrences: row.occurrences,
  sizeBytes: row.size_bytes,
  receivedAt: row.received_at,
  sourceIp: row.source_ip,
  headers: row.headers,
  evaluation: row.evaluated_at && {
    results: readResults(row.results ?? []),
    resultCount: row.result_count ?? 0,
    error: row.evaluation_error,
  },
});
