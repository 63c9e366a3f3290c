import type { AuthMode } from '#domain/webhooks';

/** What a delivery is judged by: the webhook as it was when it was read. Only webhooks that take deliveries are read. */
export interface IngressWebhook {
  /** Number of the row, a bigint as text. */
  readonly id: string;
  readonly uid: string;
  /** Moves with everything that stands here; the statement that takes a delivery checks that it is still this one. */
  readonly version: number;
  readonly authMode: AuthMode;
  readonly schemeId: string | null;
  readonly deliveryIdHeader: string | null;
  /** In clear. Null while a handshake is awaited that brings it. */
  readonly secret: string | null;
}
