import { Injectable, Logger } from '@nestjs/common';
import { Settings } from '#platform/config';
import { Clock } from '#platform/kernel';
import { Database, type Queryable } from '#platform/persistence';
import { type AttemptRecord, type ClaimedDelivery, messageOf } from '../domain/delivery.js';
import { TEST_TYPE } from '../domain/notification-webhook.js';
import { FAILURES_TO_DISABLE, waitAfter } from '../domain/retry-schedule.js';
import { signedHeaders } from '../domain/signature.js';
import { DeliveriesStore } from '../persistence/deliveries.store.js';
import { WebhooksStore } from '../persistence/webhooks.store.js';
import { NotificationSender, type SendResult } from './ports.js';
import { WebhookSecrets } from './webhook-secrets.js';

/** Beyond the time that an attempt may take: for noting how it went. */
const LEASE_MARGIN_MS = 30_000;
/** Of one webhook at most this many at a time, so that a slow receiver does not hold up the others. */
const SHARE = 4;
const GONE = 410;
const DAY_MS = 86_400_000;

type Attempt = Exclude<SendResult, { kind: 'broken_off' }>;

/**
 * Takes messages that are due and sends them. Each is sent at least once: whoever stops between sending and noting it
 * leaves a lease that runs out, and the message goes out again under the same id.
 */
@Injectable()
export class DeliverNotifications {
  private readonly logger = new Logger(DeliverNotifications.name);

  constructor(
    private readonly database: Database,
    private readonly deliveries: DeliveriesStore,
    private readonly webhooks: WebhooksStore,
    private readonly secrets: WebhookSecrets,
    private readonly sender: NotificationSender,
    private readonly clock: Clock,
    private readonly settings: Settings,
  ) {}

  /** At most `limit` messages, and none of the `busy` webhooks. Each has to be given to {@link attempt} at once. */
  claim(limit: number, busy: readonly string[] = []): Promise<ClaimedDelivery[]> {
    return this.deliveries.claim(limit, SHARE, busy, this.settings.notifyTimeout + LEASE_MARGIN_MS);
  }

  /** Sends one message and notes how it went. Broken off by `signal`, nothing is noted. */
  async attempt(delivery: ClaimedDelivery, signal: AbortSignal): Promise<void> {
    if (!delivery.enabled && delivery.type !== TEST_TYPE) {
      await this.deliveries.finish(this.database, delivery, { status: 'dropped' });
      return;
    }
    const begun = performance.now();
    const result = await this.send(delivery, signal);
    if (result.kind === 'broken_off') return;
    const record: AttemptRecord = {
      at: this.clock.now().toISOString(),
      duration_ms: Math.round(performance.now() - begun),
      ...(result.kind === 'answered'
        ? { response_status: result.status, response_body: result.body }
        : { error: result.reason }),
    };
    await this.database.transaction((tx) => this.note(tx, delivery, result, record));
  }

  private send(delivery: ClaimedDelivery, signal: AbortSignal): Promise<SendResult> {
    const { webhookUid, messageId, url } = delivery;
    const secrets = delivery.secrets.map((sealed) => this.secrets.open(webhookUid, sealed));
    const body = messageOf(delivery);
    const seconds = Math.floor(this.clock.now().getTime() / 1000);
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'Headrace-Notifications/1',
      ...signedHeaders(secrets, messageId, seconds, body),
    };
    return this.sender.send({ url, headers, body }, signal);
  }

  private async note(tx: Queryable, delivery: ClaimedDelivery, result: Attempt, record: AttemptRecord): Promise<void> {
    const { webhookUid, attempt } = delivery;
    // Webhook before delivery, as everybody does who takes both.
    const webhook = await this.webhooks.lock(tx, webhookUid);
    if (!webhook) return;
    const isTest = delivery.type === TEST_TYPE;
    const status = result.kind === 'answered' ? result.status : 0;
    const isDelivered = status >= 200 && status < 300;
    const isOver = isTest || status === GONE || !webhook.enabled;
    const asked = result.kind === 'answered' ? result.retryAfterMs : 0;
    const waitMs = isDelivered || isOver ? null : waitAfter(attempt, Math.random(), asked);
    const isNoted = await this.deliveries.finish(tx, delivery, {
      record,
      ...(waitMs === null ? { status: isDelivered ? 'delivered' : 'failed' } : { status: 'pending', waitMs }),
    });
    // A test says nothing about what the webhook is for, and one with a new address has started anew.
    if (!isNoted || isTest || webhook.url !== delivery.url) return;
    if (isDelivered) await this.webhooks.countSuccess(tx, webhookUid);
    else if (webhook.enabled) await this.countFailure(tx, webhookUid, status === GONE);
  }

  private async countFailure(tx: Queryable, webhookUid: string, isGone: boolean): Promise<void> {
    const { failures, failingMs } = await this.webhooks.countFailure(tx, webhookUid);
    const isHopeless = failures >= FAILURES_TO_DISABLE && failingMs >= this.settings.notifyDisableAfter;
    if (!isGone && !isHopeless) return;
    const reason = isGone
      ? 'The receiver answered 410 Gone.'
      : `Nothing was delivered in ${failures} attempts over ${(failingMs / DAY_MS).toFixed(1)} days.`;
    await this.webhooks.disable(tx, webhookUid, reason);
    await this.deliveries.dropPending(tx, webhookUid);
    this.logger.warn(`Disabled notification webhook ${webhookUid}: ${reason}`);
  }
}
