import type { Webhook } from './webhook.js';

/** A webhook as those see it who manage it. */
export interface ManagedWebhook extends Webhook {
  /** A bigint, as text. */
  readonly id: string;
  /** False while its sender's secret is still to come. */
  readonly hasSecret: boolean;
  /** Its managed secret was made for it alone. */
  readonly secretOwned: boolean;
  /** What a handshake brought, sealed, until somebody confirms it. */
  readonly sealedCapturedSecret: string | null;
}
