import type { AcceptedDelivery } from '../application/ports.js';

/** A delivery with its webhook, as both statements that read accepted ones name the columns. */
export interface AcceptedDeliveryRow {
  id: string;
  identity: string;
  received_at: Date;
  body: Buffer;
  headers: Record<string, string> | null;
  uid: string;
  name: string;
  factory_uid: string;
  team_uid: string;
}

export const toAcceptedDelivery = (row: AcceptedDeliveryRow): AcceptedDelivery => ({
  deliveryId: row.id,
  webhook: { uid: row.uid, name: row.name, factoryUid: row.factory_uid, teamUid: row.team_uid },
  identity: row.identity,
  receivedAt: row.received_at,
  body: row.body,
  headers: row.headers ?? {},
});
