import { Settings } from '#platform/config';
import { Clock, type Issue, isUid } from '#platform/kernel';
import type { Queryable } from '#platform/persistence';
import { Extension } from '#platform/plugins';
import { type AcceptedDelivery, WebhookDirectory } from '#domain/webhooks';
import {
  type CompiledTrigger,
  type SampledEvent,
  TriggerProvider,
  type TriggerObstacle,
  type TriggerSample,
  type TriggerScope,
} from '../application/trigger-provider.js';
import { evaluatePayloadFilter } from '../domain/payload-filter/evaluate.js';
import { parsePayloadFilter, type ParsedFilter } from '../domain/payload-filter/parse.js';
import { PAYLOAD_FILTER_SCHEMA } from '../domain/payload-filter/schema.js';
import { quoteValue } from '../domain/placeholders.js';
import { REMOVED_CREDENTIALS, withoutCredentials } from '../domain/slack-events/slack-credentials.js';
import { SLACK_SCHEME } from '../domain/slack-events/slack-event.js';
import { invalidFilterReason, type Trigger, type TriggerCheck, type TriggerEvent } from '../domain/trigger.js';
import { readWebhookTrigger, webhookOf } from '../domain/webhook-trigger.js';

const DELETED: TriggerObstacle = {
  code: 'webhook_deleted',
  detail: 'The webhook that this trigger selects has been deleted; it never fires.',
};
export const NO_DELIVERY = 'must be an accepted delivery of this factory whose payload is still stored';

@Extension()
export class WebhookTrigger extends TriggerProvider {
  override readonly provider = 'webhook';
  override readonly event = 'received';
  override readonly schema = {
    properties: {
      filter: {
        type: 'object',
        description: 'Which deliveries start the automation.',
        properties: {
          webhook_ids: {
            type: 'array',
            description: 'UID of the webhook, exactly one. Use a trigger for each webhook.',
            items: { type: 'string', pattern: '^[A-Za-z0-9]{22}$' },
            minItems: 1,
            maxItems: 1,
          },
          payload: PAYLOAD_FILTER_SCHEMA,
        },
        required: ['webhook_ids'],
        additionalProperties: false,
      },
    },
    required: ['filter'],
  };

  constructor(
    private readonly webhooks: WebhookDirectory,
    private readonly settings: Settings,
    private readonly clock: Clock,
  ) {
    super();
  }

  override async validate(
    tx: Queryable,
    { factoryUid }: TriggerScope,
    triggers: readonly Trigger[],
  ): Promise<readonly (readonly Issue[])[]> {
    const read = triggers.map(readWebhookTrigger);
    const uids = read.flatMap((one) => (one.kind === 'valid' ? [one.webhookUid] : []));
    const live = uids.length > 0 ? await this.webhooks.live(tx, factoryUid, uids) : new Set();
    return read.map((one) => {
      if (one.kind === 'invalid') return one.issues;
      if (live.has(one.webhookUid)) return [];
      return [{ pointer: '/filter/webhook_ids/0', detail: 'must be the UID of a webhook of this factory' }];
    });
  }

  override subjectOf(trigger: Trigger): string {
    return webhookOf(trigger) ?? '';
  }

  override compile(trigger: Trigger): CompiledTrigger {
    const webhookUid = webhookOf(trigger);
    const filter = parsePayloadFilter((trigger.filter as { payload?: unknown } | undefined)?.payload ?? {});
    return { check: (event) => checksOf(webhookUid, filter, event) };
  }

  override async obstacles(
    tx: Queryable,
    { factoryUid }: TriggerScope,
    triggers: readonly Trigger[],
  ): Promise<readonly (TriggerObstacle | undefined)[]> {
    const uids = triggers.map(webhookOf);
    const live = await this.webhooks.live(tx, factoryUid, uids.filter(isPresent));
    return uids.map((uid) => (uid !== undefined && live.has(uid) ? undefined : DELETED));
  }

  override async sample(
    tx: Queryable,
    scope: TriggerScope,
    trigger: Trigger,
    sample: TriggerSample,
  ): Promise<SampledEvent> {
    if (sample.kind === 'delivery') {
      const delivery = await this.webhooks.accepted(tx, scope.factoryUid, sample.deliveryId);
      return delivery
        ? { kind: 'event', event: this.eventOf(delivery) }
        : { kind: 'invalid', issues: [{ pointer: '/delivery_id', detail: NO_DELIVERY }] };
    }
    const uid = webhookOf(trigger) ?? '';
    const webhook = { uid, name: 'sample', signatureScheme: null, ...scope };
    const body = Buffer.from(JSON.stringify(sample.payload));
    const delivery = { deliveryId: 'sample', webhook, identity: '', receivedAt: this.clock.now(), body, headers: {} };
    // JSON.parse returns Infinity for a number that is too large, which JSON.stringify writes as null.
    return { kind: 'event', event: { ...this.eventOf(delivery), readPayload: () => sample.payload } };
  }

  eventOf({ deliveryId, webhook, receivedAt, body }: AcceptedDelivery): TriggerEvent {
    const { uid, name, factoryUid, teamUid, signatureScheme } = webhook;
    const parsed = once(() => JSON.parse(body.toString()) as unknown);
    const cleaned = signatureScheme === SLACK_SCHEME ? withoutCredentials(parsed()) : undefined;
    return {
      provider: this.provider,
      event: this.event,
      subject: uid,
      key: `delivery/${deliveryId}`,
      factoryUid,
      teamUid,
      occurredAt: receivedAt,
      source: 'CUSTOM_WEBHOOK',
      labels: { webhook_uid: uid, delivery_id: deliveryId },
      facts: [
        { label: 'Webhook', value: `${quoteValue(name)} (${uid})` },
        { label: 'Delivery', value: deliveryId },
      ],
      ...(cleaned === undefined
        ? { payload: body, readPayload: parsed }
        : {
            payload: Buffer.from(JSON.stringify(cleaned)),
            readPayload: () => cleaned,
            removedFromPayload: REMOVED_CREDENTIALS,
          }),
      triggerUrl: `${this.settings.publicUrl}/api/v1/factories/${factoryUid}/webhooks/${uid}/deliveries/${deliveryId}`,
      schedule: null,
    };
  }
}

function checksOf(webhookUid: string | undefined, filter: ParsedFilter, event: TriggerEvent): TriggerCheck[] {
  const selects = webhookUid !== undefined && webhookUid === event.subject;
  const webhook: TriggerCheck = {
    check: 'webhook',
    passed: selects,
    reason: selects
      ? 'The trigger selects this webhook.'
      : `The trigger selects the webhook ${webhookUid ?? '(none)'}, the delivery came to ${event.subject}.`,
  };
  return [webhook, payloadCheck(filter, event)];
}

function payloadCheck(filter: ParsedFilter, event: TriggerEvent): TriggerCheck {
  if (filter.kind === 'invalid') {
    return { check: 'payload', passed: false, reason: invalidFilterReason(filter.issues) };
  }
  const { matched, reason } = evaluatePayloadFilter(filter.filter, event.readPayload());
  return { check: 'payload', passed: matched, reason };
}

function once<T>(read: () => T): () => T {
  let known: { readonly value: T } | undefined;
  return () => (known ??= { value: read() }).value;
}

const isPresent = (uid: string | undefined): uid is string => uid !== undefined && isUid(uid);
