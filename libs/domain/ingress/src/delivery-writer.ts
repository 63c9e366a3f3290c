import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { newUuid } from '#platform/kernel';
import { Database, GroupedStatement, statement } from '#platform/persistence';
import { WebhookSecrets } from '#domain/webhooks';
import type { IngressWebhook } from './ingress-webhooks.js';

export interface NewDelivery {
  readonly webhook: IngressWebhook;
  /** Sent as JSON, with the names of the SQL function, which describes them. */
  readonly item: {
    /** A UUIDv7; the id of the delivery unless it turns out to be a duplicate. */
    readonly id: string;
    readonly outcome: 'A' | 'H' | 'J';
    readonly source_ip: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly trace_id: string;
    /** The `traceparent` of the span of the request; absent: it is not traced. */
    readonly trace_context?: string;
    readonly size: number;
    readonly identity_kind?: string;
    readonly identity?: string;
    readonly signed?: boolean;
  };
  /** Only of a delivery that is stored, with the outcome `A`. */
  readonly keys: readonly Buffer[];
  readonly body: Buffer;
}

export type AcceptResult =
  | { readonly kind: 'accepted' | 'duplicate'; readonly deliveryId: string }
  | { readonly kind: 'counted' }
  | { readonly kind: 'limited'; readonly retryMs: number }
  /** The webhook has another version by now: it has to be read and checked again. */
  | { readonly kind: 'stale' };

interface Row {
  verdict: AcceptResult['kind'];
  delivery_id: string | null;
  retry_ms: number | null;
}

const GROUP_LIMITS = { maxGroup: 32, maxInFlight: 2 };

const ACCEPT = statement('ingress.accept-deliveries')`
  SELECT verdict, delivery_id, retry_ms FROM headrace.accept_deliveries($1, $2, $3, $4, $5)`;

const CAPTURE_SECRET = statement('ingress.capture-secret')`
  WITH captured AS (
  UPDATE headrace.webhooks SET sealed_captured_secret = $3, version = version + 1, updated_at = headrace.now()
   WHERE id = $1 AND version = $2 AND enabled AND deleted_at IS NULL
     AND secret_pending AND sealed_secret IS NULL AND sealed_captured_secret IS NULL
  RETURNING id)
INSERT INTO headrace.webhook_deliveries (webhook_id, id, outcome, size_bytes, received_at, source_ip, trace_id)
SELECT id, $4, 'H', $5, headrace.now(), $6, $7 FROM captured RETURNING webhook_id`;

/**
 * Decides on rate and identity and writes the delivery in one round trip: log line, payload and the work of evaluating it
 * (an accepted row that is not evaluated yet). Deliveries that arrive together share a transaction.
 */
@Injectable()
export class DeliveryWriter {
  private readonly groups: GroupedStatement<NewDelivery, AcceptResult>;
  private readonly rate: readonly [limit: number, window: string];

  constructor(
    private readonly database: Database,
    private readonly secrets: WebhookSecrets,
    settings: Settings,
  ) {
    this.rate = [settings.webhookRateLimit, `${settings.webhookRateWindow} milliseconds`];
    this.groups = new GroupedStatement<NewDelivery, AcceptResult>((group) => this.acceptGroup(group), GROUP_LIMITS);
  }

  accept(delivery: NewDelivery): Promise<AcceptResult> {
    return this.groups.execute(delivery);
  }

  /**
   * Stores the secret that a first, unsigned request contains until a user confirms it. False when another request was
   * first, or the webhook has changed; a stored secret is never overwritten.
   */
  async captureSecret(
    webhook: IngressWebhook,
    secret: string,
    { sizeBytes, sourceIp, traceId }: { sizeBytes: number; sourceIp: string; traceId: string },
  ): Promise<boolean> {
    const sealed = this.secrets.sealCaptured(webhook.uid, secret);
    const values = [webhook.id, webhook.version, sealed, newUuid(), sizeBytes, sourceIp, traceId];
    return (await this.database.query(CAPTURE_SECRET, values)).length === 1;
  }

  private async acceptGroup(deliveries: readonly NewDelivery[]): Promise<AcceptResult[]> {
    // The statement locks rates in the order of its items: one order for all processes prevents deadlocks.
    const ordered = deliveries
      .map((delivery, index) => ({ delivery, index }))
      .sort((one, other) => compareIds(one.delivery.webhook.id, other.delivery.webhook.id));
    const toStore = ordered.map(({ delivery }) => delivery).filter(({ item }) => item.outcome === 'A');
    const rows = await this.database.query<Row>(ACCEPT, [
      JSON.stringify(
        ordered.map(({ delivery: { webhook, item } }) => ({
          webhook_id: webhook.id,
          version: webhook.version,
          ...item,
        })),
      ),
      Buffer.concat(toStore.flatMap(({ keys }) => keys)),
      Buffer.concat(toStore.map(({ body }) => body)),
      ...this.rate,
    ]);
    const results: AcceptResult[] = [];
    rows.forEach((row, index) => (results[ordered[index]?.index ?? 0] = toResult(row)));
    return results;
  }
}

/** Compares decimal numbers without leading zeros. */
const compareIds = (one: string, other: string): number =>
  one.length - other.length || (one < other ? -1 : one > other ? 1 : 0);

function toResult({ verdict, delivery_id: deliveryId, retry_ms: retryMs }: Row): AcceptResult {
  switch (verdict) {
    case 'accepted':
    case 'duplicate':
      if (deliveryId === null) throw new Error('The acceptance statement returned no delivery id.');
      return { kind: verdict, deliveryId };
    case 'limited':
      return { kind: 'limited', retryMs: retryMs ?? 1 };
    case 'counted':
    case 'stale':
      return { kind: verdict };
  }
}
