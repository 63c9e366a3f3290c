import { Injectable } from '@nestjs/common';
import { Settings } from '#libs/config';
import { Database, GroupedStatement, type Statement } from '#libs/persistence';
import type { DeliveryIdentity } from '../domain/delivery.js';
import { identityKey } from '../domain/delivery-identity.js';
import type { IngressWebhook } from './ingress-webhook.js';

/** A delivery that is authentic, on its way into the log. */
export interface TakenDelivery {
  readonly webhook: IngressWebhook;
  /** A UUIDv7 made here; its own unless the delivery turns out to be a duplicate. */
  readonly id: string;
  /** `delivery` is decided by its identity and kept; `handshake` is logged; `invalid_json` only counts against the rate. */
  readonly kind: 'delivery' | 'handshake' | 'invalid_json';
  readonly identity: DeliveryIdentity | null;
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
const TYPES = 'bigint int int interval "char" uuid text text bytea int text jsonb text bytea'.split(' ');
const LIMITS = { maxGroup: 32, maxInFlight: 3 };

/** One call of the function a delivery; parameters keep bodies binary. A text for each size of a group. */
const statements = new Map<number, Statement>();
function statementFor(size: number): Statement {
  const known = statements.get(size);
  if (known) return known;
  const calls = Array.from({ length: size }, (_, ord) => {
    const parameters = TYPES.map((type, index) => `$${ord * TYPES.length + index + 1}::${type}`).join(', ');
    return `SELECT ${ord} AS ord, t.* FROM headrace.take_delivery(${parameters}) AS t`;
  });
  const made = { name: `ingress.take-${size}`, text: calls.join('\nUNION ALL ') };
  statements.set(size, made);
  return made;
}

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
      .map((delivery, index) => ({ delivery, index, id: BigInt(delivery.webhook.id) }))
      .sort((one, other) => (one.id < other.id ? -1 : one.id > other.id ? 1 : 0));
    const rows = await this.database.query<Row & { ord: number }>(
      statementFor(ordered.length),
      ordered.flatMap(({ delivery }) => this.parameters(delivery)),
    );
    const results: Taking[] = [];
    for (const row of rows) results[ordered[row.ord]?.index ?? 0] = toTaking(row);
    return results;
  }

  private parameters(delivery: TakenDelivery): unknown[] {
    const { webhook, id, kind, identity, body, sourceIp, headers, traceId } = delivery;
    return [
      ...[webhook.id, webhook.version, ...this.rate, CODES[kind], id],
      ...[identity?.kind ?? null, identity?.value ?? null, identity ? identityKey(identity) : null],
      ...[body.length, sourceIp, JSON.stringify(headers), traceId, kind === 'delivery' ? body : null],
    ];
  }
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
