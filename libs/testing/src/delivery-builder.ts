import { randomBytes } from 'node:crypto';
import type { TestDatabase } from './database/test-database.js';

/** A Accepted, D Duplicate, U Rejected (auth), J Rejected (invalid JSON), L Rejected (too large), H handshake. */
export type DeliveryCode = 'A' | 'D' | 'U' | 'J' | 'L' | 'H';

export interface DeliveryShape {
  /** Default: A. */
  readonly outcome?: DeliveryCode;
  /** Of an accepted one. Default: a small object. */
  readonly body?: string | Buffer;
  readonly identity?: string;
  /** Default: now. Ids follow it. */
  readonly receivedAt?: Date;
  /** How many rejections it stands for. */
  readonly occurrences?: number;
  readonly duplicateOf?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Of an accepted one: evaluated, with nothing that matched. */
  readonly isEvaluated?: boolean;
}

/** A UUIDv7 of that time. */
export function uuidAt(at: Date): string {
  const time = at.getTime().toString(16).padStart(12, '0');
  const rest = randomBytes(9).toString('hex');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${rest.slice(0, 3)}-8${rest.slice(3, 6)}-${rest.slice(6)}`;
}

/** Lines of delivery logs, straight into the database, for what the ingress cannot be brought to in a test of the API alone. */
export class DeliveryBuilder {
  constructor(private readonly database: Pick<TestDatabase, 'query'>) {}

  async build(webhookId: string, shape: DeliveryShape = {}): Promise<{ id: string }> {
    const [id] = await this.buildMany(webhookId, 1, shape);
    if (id === undefined) throw new Error('PostgreSQL wrote no delivery.');
    return { id };
  }

  /** Their ids, in ascending order; all received at the same moment. */
  async buildMany(webhookId: string, count: number, shape: DeliveryShape = {}): Promise<string[]> {
    const { outcome = 'A', body = '{"n":1}', receivedAt = await this.now(), isEvaluated = false } = shape;
    const bytes = Buffer.from(body);
    const ids = Array.from({ length: count }, () => uuidAt(receivedAt)).sort();
    const hasIdentity = outcome === 'A' || outcome === 'D';
    await this.database.query(
      `INSERT INTO headrace.webhook_deliveries (webhook_id, id, outcome, identity_kind, identity, duplicate_of, occurrences,
         size_bytes, received_at, source_ip, headers, body, evaluated_at, results, evaluate_at)
       SELECT $1, id, $3::"char", $4, CASE WHEN $4::text IS NOT NULL THEN coalesce($5, id::text) END, $6, $7, $8, $9,
         '203.0.113.7', $10::jsonb, $11, CASE WHEN $12 THEN $9::timestamptz END, CASE WHEN $12 THEN '[]'::jsonb END, $9
         FROM unnest($2::uuid[]) AS id`,
      [
        ...[webhookId, ids, outcome, hasIdentity ? 'service_header' : null, shape.identity ?? null],
        ...[shape.duplicateOf ?? null, shape.occurrences ?? 1, bytes.length, receivedAt],
        ...[shape.headers ? JSON.stringify(shape.headers) : null, outcome === 'A' ? bytes : null],
        outcome === 'A' && isEvaluated,
      ],
    );
    return ids;
  }

  private async now(): Promise<Date> {
    const [row] = await this.database.query<{ now: Date }>('SELECT headrace.now() AS now');
    if (!row) throw new Error('PostgreSQL has no time.');
    return row.now;
  }
}
