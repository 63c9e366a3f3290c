import { Injectable, Logger } from '@nestjs/common';
import { Database, GroupedStatement, statement } from '#platform/persistence';
import { SealBrokenError } from '#platform/secrets';
import { WebhookSecrets } from '#domain/webhooks';

/** A webhook that accepts deliveries, as it was when it was read. */
export interface IngressWebhook {
  /** Number of the row, a bigint as text. */
  readonly id: string;
  readonly uid: string;
  /** Changes with every other field; the statement that accepts a delivery compares it. */
  readonly version: number;
  readonly authMode: string;
  readonly schemeId: string | null;
  readonly deliveryIdHeader: string | null;
  /** In clear text. Null while the handshake that brings it is awaited. */
  readonly secret: string | null;
}

type Row = Omit<IngressWebhook, 'secret'> & { readonly sealedSecret: string | null; readonly isAccepting: boolean };

/**
 * Disabled and deleted webhooks are as unknown as those that never existed; so is one whose handshake has taken place and
 * is not confirmed yet. The conditions are part of the result, not of WHERE: on a small table the planner would prefer a
 * partial index that is slower.
 */
const READ = statement('ingress.webhooks')`
  SELECT w.id, w.uid, w.version, w.auth_mode AS "authMode", w.signature_scheme AS "schemeId",
       w.delivery_id_header AS "deliveryIdHeader", CASE WHEN NOT w.secret_pending THEN w.sealed_secret END AS "sealedSecret",
       w.enabled AND w.deleted_at IS NULL
         AND (w.sealed_secret IS NOT NULL OR (w.secret_pending AND w.sealed_captured_secret IS NULL)) AS "isAccepting"
  FROM headrace.webhooks AS w WHERE w.uid = ANY ($1::text[])`;
const FETCH_LIMITS = { maxGroup: 256, maxInFlight: 2 };
/** A rejection can wait for this short time: a flood of rejections then costs a bounded number of statements. */
const REFRESH_LIMITS = { maxGroup: 1024, maxInFlight: 1, spacingMs: 10 };
const MAX_CACHED = 100_000;

/**
 * The webhooks of deliveries, with a cache that decides nothing by itself: the statement that accepts a delivery compares
 * the version, and before a rejection the webhook is read again.
 */
@Injectable()
export class IngressWebhooks {
  private readonly logger = new Logger(IngressWebhooks.name);
  private readonly cache = new Map<string, IngressWebhook>();
  private readonly fetches: GroupedStatement<string, IngressWebhook | null>;
  private readonly refreshes: GroupedStatement<string, IngressWebhook | null>;

  constructor(
    database: Database,
    private readonly secrets: WebhookSecrets,
  ) {
    const read = async (uids: readonly string[]): Promise<(IngressWebhook | null)[]> => {
      const rows = await database.query<Row>(READ, [[...new Set(uids)]]);
      const byUid = new Map(rows.filter((row) => row.isAccepting).map((row) => [row.uid, row]));
      return uids.map((uid) => this.store(uid, byUid.get(uid) ?? null));
    };
    this.fetches = new GroupedStatement<string, IngressWebhook | null>(read, FETCH_LIMITS);
    this.refreshes = new GroupedStatement<string, IngressWebhook | null>(read, REFRESH_LIMITS);
  }

  getCached(uid: string): IngressWebhook | null {
    return this.cache.get(uid) ?? null;
  }

  /** As it is now; null when there is none that accepts deliveries. One round trip, shared with others under load. */
  fetch(uid: string): Promise<IngressWebhook | null> {
    return this.fetches.execute(uid);
  }

  /** {@link fetch} before a rejection: waits for up to 10 ms, so that rejections share statements. */
  refreshBatched(uid: string): Promise<IngressWebhook | null> {
    return this.refreshes.execute(uid);
  }

  private store(uid: string, row: Row | null): IngressWebhook | null {
    const known = this.cache.get(uid);
    this.cache.delete(uid);
    if (!row) return null;
    const webhook = known?.id === row.id && known.version === row.version ? known : this.decrypted(row);
    if (this.cache.size >= MAX_CACHED) {
      const [oldest] = this.cache.keys();
      if (oldest !== undefined) this.cache.delete(oldest);
    }
    this.cache.set(uid, webhook);
    return webhook;
  }

  private decrypted({ sealedSecret, isAccepting: _, ...webhook }: Row): IngressWebhook {
    return { ...webhook, secret: sealedSecret === null ? null : this.open(webhook.uid, sealedSecret) };
  }

  /** An empty secret rejects every request; the log says why. */
  private open(uid: string, sealed: string): string {
    try {
      return this.secrets.open(uid, sealed);
    } catch (error) {
      if (!(error instanceof SealBrokenError)) throw error;
      this.logger.error(
        `The secret of webhook ${uid} cannot be decrypted (${error.reason}); all its deliveries are rejected.`,
      );
      return '';
    }
  }
}
