import { Injectable, Logger } from '@nestjs/common';
import { Database, GroupedStatement, type Statement } from '#platform/persistence';
import { SealBrokenError } from '#platform/secrets';
import { WebhookSecrets } from '#domain/webhooks';
import type { AuthMode } from '#domain/webhooks';
import type { IngressWebhook } from './ingress-webhook.js';

interface Row {
  id: string;
  uid: string;
  version: number;
  auth_mode: AuthMode;
  signature_scheme: string | null;
  delivery_id_header: string | null;
  sealed_secret: string | null;
  takes_deliveries: boolean;
}

/**
 * Disabled and deleted ones are as unknown as those that never were; so is one that waits for a handshake and has had it.
 * Conditions stand in the result, not behind WHERE: on a young table the planner takes a partial index for shorter.
 */
const READ: Statement = {
  name: 'ingress.webhooks',
  text: `SELECT w.id, w.uid, w.version, w.auth_mode, w.signature_scheme, w.delivery_id_header,
       CASE WHEN NOT w.secret_pending THEN w.sealed_secret END AS sealed_secret,
       w.enabled AND w.deleted_at IS NULL
         AND (w.sealed_secret IS NOT NULL OR (w.secret_pending AND w.sealed_captured_secret IS NULL)) AS takes_deliveries
  FROM headrace.webhooks AS w WHERE w.uid = ANY ($1::text[])`,
};
const READS = { maxGroup: 256, maxInFlight: 2 };
/** Whoever is about to be refused can wait this little: a flood of refusals then costs a bounded number of statements. */
const CONFIRMATIONS = { maxGroup: 1024, maxInFlight: 1, spacingMs: 10 };
const MAX_REMEMBERED = 100_000;

/**
 * The webhooks that deliveries come to. What is remembered is a guess: it never refuses anybody and never accepts
 * anything by itself. The statement that takes a delivery checks the version again, and before a refusal the webhook
 * is read anew.
 */
@Injectable()
export class IngressWebhooks {
  private readonly logger = new Logger(IngressWebhooks.name);
  private readonly remembered = new Map<string, IngressWebhook>();
  private readonly reads: GroupedStatement<string, IngressWebhook | null>;
  private readonly confirmations: GroupedStatement<string, IngressWebhook | null>;

  constructor(
    database: Database,
    private readonly secrets: WebhookSecrets,
  ) {
    const read = async (uids: readonly string[]): Promise<(IngressWebhook | null)[]> => {
      const rows = await database.query<Row>(READ, [[...new Set(uids)]]);
      const byUid = new Map(rows.filter((row) => row.takes_deliveries).map((row) => [row.uid, row]));
      return uids.map((uid) => this.remember(uid, byUid.get(uid) ?? null));
    };
    this.reads = new GroupedStatement<string, IngressWebhook | null>(read, READS);
    this.confirmations = new GroupedStatement<string, IngressWebhook | null>(read, CONFIRMATIONS);
  }

  /** As it was when it was last read here; null when it never was. */
  guess(uid: string): IngressWebhook | null {
    return this.remembered.get(uid) ?? null;
  }

  /** As it is now; null when there is none that takes deliveries. One round trip, shared with others under load. */
  read(uid: string): Promise<IngressWebhook | null> {
    return this.reads.execute(uid);
  }

  /** {@link read} for what is refused unless the webhook has changed: waits a little for company. */
  confirm(uid: string): Promise<IngressWebhook | null> {
    return this.confirmations.execute(uid);
  }

  private remember(uid: string, row: Row | null): IngressWebhook | null {
    const known = this.remembered.get(uid);
    this.remembered.delete(uid);
    if (!row) return null;
    const webhook = known?.id === row.id && known.version === row.version ? known : this.toWebhook(row);
    if (this.remembered.size >= MAX_REMEMBERED) {
      const [oldest] = this.remembered.keys();
      if (oldest !== undefined) this.remembered.delete(oldest);
    }
    this.remembered.set(uid, webhook);
    return webhook;
  }

  private toWebhook(row: Row): IngressWebhook {
    return {
      id: row.id,
      uid: row.uid,
      version: row.version,
      authMode: row.auth_mode,
      schemeId: row.signature_scheme,
      deliveryIdHeader: row.delivery_id_header,
      secret: row.sealed_secret === null ? null : this.open(row.uid, row.sealed_secret),
    };
  }

  /** An empty secret refuses every request: better than a webhook that nobody can explain. */
  private open(uid: string, sealed: string): string {
    try {
      return this.secrets.open(uid, sealed);
    } catch (error) {
      if (!(error instanceof SealBrokenError)) throw error;
      this.logger.error(
        `The secret of webhook ${uid} does not open (${error.reason}); all its deliveries are refused.`,
      );
      return '';
    }
  }
}
