import { Injectable, Logger } from '@nestjs/common';
import { Settings } from '#platform/config';
import { Clock } from '#platform/kernel';
import { type LabeledCounter, Metrics } from '#platform/observability';
import { Database, type Transaction } from '#platform/persistence';
import { SecretBox } from '#platform/secrets';
import {
  type AttemptRecord,
  type ClaimedNotification,
  messageOf,
  signedHeaders,
} from '../domain/notification-delivery.js';
import { TEST_TYPE } from '../domain/notification-webhook.js';
import { FAILURES_TO_DISABLE, waitAfter } from '../domain/retry-schedule.js';
import type { DecisionButton, RunOutcome } from '../domain/formats/chat-message.js';
import { withoutTokens } from '../domain/decision-links.js';
import { withComponents } from '../domain/formats/discord.js';
import { NotificationSender, type SendResult } from '../adapters/notification-sender.js';
import { NOTIFICATION_SECRET } from '../persistence/encrypted-columns.js';
import { NotificationDeliveriesStore } from '../persistence/notification-deliveries.store.js';
import { NotificationWebhooksStore } from '../persistence/notification-webhooks.store.js';
import { RunOutcomesStore } from '../persistence/run-outcomes.store.js';
import { NotificationDecisions } from './notification-decisions.js';

/** In addition to the timeout of an attempt: the time to record its result. */
const LEASE_MARGIN_MS = 30_000;
/** Concurrent messages of one webhook, so that a slow receiver does not delay the others. */
const SHARE = 4;
const GONE = 410;
const DAY_MS = 86_400_000;

const RESULTS = ['delivered', 'retry', 'failed'] as const;

type Attempt = Exclude<SendResult, { kind: 'aborted' }>;

/**
 * Sends messages that are due, each at least once: when a process ends between sending and recording, the lease of the
 * message expires, and it is sent again under the same id.
 */
@Injectable()
export class DeliverNotifications {
  private readonly logger = new Logger(DeliverNotifications.name);
  private readonly attempts: LabeledCounter<(typeof RESULTS)[number]>;

  constructor(
    private readonly database: Database,
    private readonly deliveries: NotificationDeliveriesStore,
    private readonly webhooks: NotificationWebhooksStore,
    private readonly outcomes: RunOutcomesStore,
    private readonly decisions: NotificationDecisions,
    private readonly box: SecretBox,
    private readonly sender: NotificationSender,
    private readonly clock: Clock,
    private readonly settings: Settings,
    metrics: Metrics,
  ) {
    this.attempts = metrics.labeledCounter(
      'headrace_notification_attempts_total',
      'Attempts to deliver a notification, by result. failed: without another attempt.',
      'result',
      RESULTS,
    );
  }

  /** At most `limit` messages, and none of the `busy` webhooks. Each must be passed to {@link attempt} immediately. */
  claim(limit: number, busy: readonly string[] = []): Promise<ClaimedNotification[]> {
    return this.deliveries.claim(limit, SHARE, busy, this.settings.notifyTimeout + LEASE_MARGIN_MS);
  }

  /** Sends one message and records the result. Nothing is recorded when `signal` aborts the attempt. */
  async attempt(delivery: ClaimedNotification, signal: AbortSignal): Promise<void> {
    if (!delivery.enabled && delivery.type !== TEST_TYPE) {
      await this.deliveries.finish(this.database, delivery, { status: 'dropped' });
      return;
    }
    const begun = performance.now();
    const [outcome, buttons] = await Promise.all([this.outcomeOf(delivery), this.buttonsOf(delivery)]);
    const result = await this.send(delivery, messageOf(delivery, outcome, buttons), buttons.length > 0, signal);
    if (result.kind === 'aborted') return;
    const record: AttemptRecord = {
      at: this.clock.now().toISOString(),
      duration_ms: Math.round(performance.now() - begun),
      ...(result.kind === 'answered'
        ? { response_status: result.status, response_body: withoutTokens(result.body, buttons) }
        : { error: result.reason }),
    };
    await this.database.transaction((tx) => this.record(tx, delivery, result, record));
  }

  /** A message without the result is better than none: what cannot be read is left out. */
  private async outcomeOf({ runId, runSeq, data, messageId }: ClaimedNotification): Promise<RunOutcome | null> {
    if (runId === null || runSeq === null || data['state'] === 'BLOCKED') return null;
    try {
      return await this.outcomes.find(runId, runSeq);
    } catch (error) {
      this.logger.warn(`The result of run ${runId} was left out of message ${messageId}: ${String(error)}`);
      return null;
    }
  }

  /** The message has a link to the console in any case. */
  private async buttonsOf(delivery: ClaimedNotification): Promise<DecisionButton[]> {
    if (!delivery.decisions || delivery.format === 'json' || delivery.data['state'] !== 'BLOCKED') return [];
    try {
      return await this.decisions.buttonsOf(delivery);
    } catch (error) {
      this.logger.warn(`The buttons were left out of message ${delivery.messageId}: ${String(error)}`);
      return [];
    }
  }

  private send(
    delivery: ClaimedNotification,
    body: string,
    hasButtons: boolean,
    signal: AbortSignal,
  ): Promise<SendResult> {
    const { webhookUid, messageId, format } = delivery;
    const url = hasButtons && format === 'discord' ? withComponents(delivery.url) : delivery.url;
    const secrets = delivery.secrets.map((sealed) =>
      this.box.openColumn(NOTIFICATION_SECRET, { uid: webhookUid }, sealed),
    );
    const seconds = Math.floor(this.clock.now().getTime() / 1000);
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'Headrace-Notifications/1',
      ...signedHeaders(secrets, messageId, seconds, body),
    };
    return this.sender.send({ url, headers, body }, signal);
  }

  private async record(
    tx: Transaction,
    delivery: ClaimedNotification,
    result: Attempt,
    record: AttemptRecord,
  ): Promise<void> {
    const { webhookUid, attempt } = delivery;
    // Lock order: the webhook before its deliveries.
    const webhook = await this.webhooks.lock(tx, webhookUid);
    if (!webhook) return;
    const isTest = delivery.type === TEST_TYPE;
    const status = result.kind === 'answered' ? result.status : 0;
    const isDelivered = status >= 200 && status < 300;
    const isFinal = isTest || status === GONE || !webhook.enabled;
    const retryAfterMs = result.kind === 'answered' ? result.retryAfterMs : 0;
    const waitMs = isDelivered || isFinal ? null : waitAfter(attempt, Math.random(), retryAfterMs);
    const isRecorded = await this.deliveries.finish(tx, delivery, {
      record,
      ...(waitMs === null ? { status: isDelivered ? 'delivered' : 'failed' } : { status: 'pending', waitMs }),
    });
    tx.afterCommit(() => this.attempts.add(isDelivered ? 'delivered' : waitMs === null ? 'failed' : 'retry'));
    // Neither a test nor an attempt for a previous URL counts as a failure of the webhook.
    if (!isRecorded || isTest || webhook.url !== delivery.url) return;
    if (isDelivered) await this.webhooks.countSuccess(tx, webhookUid);
    else if (webhook.enabled) await this.countFailure(tx, webhookUid, status === GONE);
  }

  private async countFailure(tx: Transaction, webhookUid: string, isGone: boolean): Promise<void> {
    const { failures, failingMs } = await this.webhooks.countFailure(tx, webhookUid);
    const isFailing = failures >= FAILURES_TO_DISABLE && failingMs >= this.settings.notifyDisableAfter;
    if (!isGone && !isFailing) return;
    const reason = isGone
      ? 'The receiver answered 410 Gone.'
      : `Nothing was delivered in ${failures} attempts over ${(failingMs / DAY_MS).toFixed(1)} days.`;
    await this.webhooks.disable(tx, webhookUid, reason);
    await this.deliveries.dropPending(tx, webhookUid);
    this.logger.warn(`Disabled notification webhook ${webhookUid}: ${reason}`);
  }
}
