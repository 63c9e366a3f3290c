import { Injectable } from '@nestjs/common';
import { newUuid } from '#platform/kernel';
import { Database, type Statement } from '#platform/persistence';
import { WebhookSecrets } from '#domain/webhooks';
import type { Exchange } from './ingress-request.js';
import type { IngressWebhook } from './ingress-webhook.js';

/** Takes a secret once, for a webhook that waits for one, and logs the handshake. */
const CAPTURE: Statement = {
  name: 'ingress.capture-secret',
  text: `WITH captured AS (
  UPDATE headrace.webhooks SET sealed_captured_secret = $3, version = version + 1, updated_at = headrace.now()
   WHERE id = $1 AND version = $2 AND enabled AND deleted_at IS NULL
     AND secret_pending AND sealed_secret IS NULL AND sealed_captured_secret IS NULL
  RETURNING id)
INSERT INTO headrace.webhook_deliveries (webhook_id, id, outcome, size_bytes, received_at, source_ip, trace_id)
SELECT id, $4, 'H', $5, headrace.now(), $6, $7 FROM captured RETURNING webhook_id`,
};

/**
 * Secrets that senders bring with their first, unsigned request. Kept until somebody confirms them; a stranger who was
 * faster is noticed there, and can overwrite nothing.
 */
@Injectable()
export class CapturedSecrets {
  constructor(
    private readonly database: Database,
    private readonly secrets: WebhookSecrets,
  ) {}

  /** Whether it was taken: false when another request was first, or the webhook has changed. */
  async capture(webhook: IngressWebhook, secret: string, exchange: Exchange): Promise<boolean> {
    const sealed = this.secrets.sealCaptured(webhook.uid, secret);
    const rows = await this.database.query(CAPTURE, [
      ...[webhook.id, webhook.version, sealed],
      ...[newUuid(), exchange.body?.length ?? 0, exchange.sourceIp, exchange.traceId],
    ]);
    return rows.length === 1;
  }
}
