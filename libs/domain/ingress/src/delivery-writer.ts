import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { Database, GroupedStatement, type Statement } from '#platform/persistence';
import type { DeliveryIdentity } from '#domain/webhooks';
import { identityKey } from '#domain/webhooks';
import type { IngressWebhook } from './ingress-webhook.js';

/** A delivery that is authentic, on its way into the log. */
export interface TakenDelivery {
  readonly webhook: IngressWebhook;
  /** A UUIDv7 made here; its own unless the delivery turns out to be a duplicate. */
  readonly id: string;
  /** `delivery` is decided by its identity and kept; `handshake` is logged; `invalid_json` only counts against the rate. */
  readonly kind: 'delivery' | 'handshake' | 'invalid_json';
  readonly identity: DeliveryIdentity | null;
  readonly signatureKey: Buffer | null;
  readonly body: Buffer;
  readonly sourceIp: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly traceId: string;
}

export type Taking =
  | { readonly kind: 'accepted' | 'duplicate'; readonly deliveryId: string }
  | { readonly kind: 'counted' }
  | { readonly kind: 'limited'; readonly retryMs: number }
  /** The webhook is no longer what it was read as: read it and decide again. */
  | { readonly kind: 'stale' };

interface Row {
  verdict: 'accepted' | 'duplicate' | 'counted' | 'limited' | 'stale';
  delivery_id: string | null;
  retry_ms: number | null;
}

const CODES = { delivery: 'A', handshake: 'H', invalid_json: 'J' } as const;
const LIMITS = { maxGroup: 32, maxInFlight: 2 };

const TAKE: Statement = {
  name: 'ingress.take-deliveries',
  text: 'SELECT verdict, delivery_id, retry_ms FROM headrace.take_deliveries($1, $2, $3, $4, $5)',
};

/**
 * The last checks of deliveries and all that they write, in one round trip: rate, identity, log line, payload and the
 * work of evaluating it (an accepted row that is not evaluated yet). Deliveries that come together share a transaction.
 */
@Injectable()
export class TakenDeliveries {
  private readonly groups: GroupedStatement<TakenDelivery, Taking>;
  private readonly rate: readonly [limit: number, window: string];

  constructor(
    private readonly database: Database,
    settings: Settings,
  ) {
    this.rate = [settings.webhookRateLimit, `${settings.webhookRateWindow} milliseconds`];
    this.groups = new GroupedStatement<TakenDelivery, Taking>((deliveries) => this.takeAll(deliveries), LIMITS);
  }

  take(delivery: TakenDelivery): Promise<Taking> {
    return this.groups.execute(delivery);
  }

  private async takeAll(deliveries: readonly TakenDelivery[]): Promise<Taking[]> {
    // Rates are locked in one order by everybody, so that groups of several processes never wait in a circle.
    const ordered = deliveries
      .map((delivery, index) => ({ delivery, index }))
      .sort((one, other) => compareIds(one.delivery.webhook.id, other.delivery.webhook.id));
    const toAccept = ordered.map(({ delivery }) => delivery).filter(({ kind }) => kind === 'delivery');
    const rows = await this.database.query<Row>(TAKE, [
      JSON.stringify(ordered.map(({ delivery }) => toItem(delivery))),
      Buffer.concat(toAccept.flatMap(keysOf)),
      Buffer.concat(toAccept.map(({ body }) => body)),
      ...this.rate,
    ]);
    const results: Taking[] = [];
    rows.forEach((row, index) => (results[ordered[index]?.index ?? 0] = toTaking(row)));
    return results;
  }
}

/** Decimal numbers without leading zeros. */
const compareIds = (one: string, other: string): number =>
  one.length - other.length || (one < other ? -1 : one > other ? 1 : 0);

const keysOf = ({ identity, signatureKey }: TakenDelivery): Buffer[] => [
  identity ? identityKey(identity) : Buffer.alloc(32),
  ...(signatureKey ? [signatureKey] : []),
];

/** What goes as JSON; keys and bodies go as bytes. */
function toItem(delivery: TakenDelivery): object {
  const { webhook, id, kind, identity, body, sourceIp, headers, traceId } = delivery;
  return {
    webhook_id: webhook.id,
    version: webhook.version,
    outcome: CODES[kind],
    id,
    identity_kind: identity?.kind ?? null,
    identity: identity?.value ?? null,
    size: body.length,
    source_ip: sourceIp,
    headers,
    trace_id: traceId,
    signed: delivery.signatureKey !== null,
  };
}

function toTaking({ verdict, delivery_id: deliveryId, retry_ms: retryMs }: Row): Taking {
  switch (verdict) {
    case 'accepted':
    case 'duplicate':
      if (deliveryId === null) throw new Error('A delivery was taken without an id.');
      return { kind: verdict, deliveryId };
    case 'limited':
      return { kind: 'limited', retryMs: retryMs ?? 1 };
    case 'counted':
    case 'stale':
      return { kind: verdict };
  }
}
