import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { Issue } from '#platform/kernel';
import type { Queryable } from '#platform/persistence';
import { CreateRun } from '#domain/runs';
import { type AcceptedDelivery, WebhookDirectory } from '#domain/webhooks';
import {
  type CompiledTrigger,
  type SampledEvent,
  TriggerProvider,
  type TriggerObstacle,
  type TriggerSample,
  type TriggerScope,
} from '../application/trigger-provider.js';
import { TriggerProviders } from '../application/trigger-providers.js';
import { sharedKeyOf } from '../domain/concurrency.js';
import { quoteValue } from '../domain/placeholders.js';
import {
  channelKey,
  commandKey,
  eventsOf,
  readSlackCommand,
  readSlackMessage,
  SLACK,
  SLACK_EVENT_NAMES,
  SLACK_SCHEME,
  type SlackCommand,
  type SlackEvent,
  type SlackEventName,
  type SlackMessage,
  type SlackMessageEvent,
  threadKey,
  threadName,
  withoutMentions,
} from '../domain/slack-events/slack-event.js';
import { readSlackTrigger, slackChecks, slackTriggerSchema } from '../domain/slack-events/slack-filter.js';
import {
  type EventTarget,
  invalidFilterReason,
  type Trigger,
  type TriggerCheck,
  type TriggerEvent,
} from '../domain/trigger.js';
import { NO_DELIVERY, WebhookTrigger } from './webhook-trigger.js';

/** All events reach all triggers of Slack in the factory. */
const SUBJECT = '';

/** A kind of message in Slack, which deliveries of the Events API report. */
export class SlackTrigger extends TriggerProvider {
  override readonly provider = SLACK;
  override readonly schema;

  constructor(
    override readonly event: SlackEventName,
    private readonly webhooks: WebhookDirectory,
    private readonly events: SlackDeliveries,
    private readonly webhook: WebhookTrigger,
  ) {
    super();
    this.schema = slackTriggerSchema(event);
  }

  override validate(
    _tx: Queryable,
    _scope: TriggerScope,
    triggers: readonly Trigger[],
  ): Promise<readonly (readonly Issue[])[]> {
    const read = triggers.map(readSlackTrigger);
    return Promise.resolve(read.map((one) => (one.kind === 'invalid' ? one.issues : [])));
  }

  override subjectOf(): string {
    return SUBJECT;
  }

  override compile(trigger: Trigger): CompiledTrigger {
    const read = readSlackTrigger(trigger);
    if (read.kind === 'invalid') {
      const reason = invalidFilterReason(read.issues);
      return { check: () => [{ check: 'event', passed: false, reason }] };
    }
    return {
      check: (given) => {
        const event = (given.details ?? null) as SlackEvent | null;
        if (event?.event !== this.event) return [this.otherEvent(event)];
        return slackChecks(read.filter, event, given.readPayload());
      },
    };
  }

  override async obstacles(
    tx: Queryable,
    { factoryUid }: TriggerScope,
    triggers: readonly Trigger[],
  ): Promise<readonly (TriggerObstacle | undefined)[]> {
    const isReached = await this.webhooks.hasScheme(tx, factoryUid, [SLACK_SCHEME]);
    const detail = `The factory has no webhook with the signature scheme ${SLACK_SCHEME}; it never fires.`;
    return triggers.map(() => (isReached ? undefined : { code: 'webhook_missing', detail }));
  }

  override async sample(
    tx: Queryable,
    scope: TriggerScope,
    trigger: Trigger,
    sample: TriggerSample,
  ): Promise<SampledEvent> {
    if (sample.kind === 'payload') {
      const received = await this.webhook.sample(tx, scope, trigger, sample);
      if (received.kind === 'invalid') return received;
      const command = readSlackCommand(sample.payload);
      if (command !== null) return { kind: 'event', event: withCommand(received.event, command) };
      const message = readSlackMessage(sample.payload);
      // Of a message that was not delivered, the thread is taken for that of a run.
      const events = message === null ? [] : eventsOf(message, true).map((one) => withDetails(received.event, one));
      return { kind: 'event', event: this.oneOf(events, received.event) };
    }
    const delivery = await this.webhooks.accepted(tx, scope.factoryUid, sample.deliveryId);
    if (!delivery) return { kind: 'invalid', issues: [{ pointer: '/delivery_id', detail: NO_DELIVERY }] };
    return { kind: 'event', event: this.oneOf(await this.events.eventsOf(delivery), this.webhook.eventOf(delivery)) };
  }

  private oneOf(events: readonly TriggerEvent[], received: TriggerEvent): TriggerEvent {
    return events.find(({ event }) => event === this.event) ?? events[0] ?? received;
  }

  private otherEvent(event: SlackEvent | null): TriggerCheck {
    const is = event ? `is ${event.event}` : 'is no message or command of a person that a trigger of slack can name';
    return { check: 'event', passed: false, reason: `The event ${is}; the trigger waits for ${this.event}.` };
  }
}

/** Deliveries as messages of Slack. */
@Injectable()
export class SlackDeliveries {
  constructor(
    private readonly webhook: WebhookTrigger,
    private readonly runs: CreateRun,
  ) {}

  /** At most one round trip: whether a run works for the thread of the message. */
  async eventsOf(
    delivery: AcceptedDelivery,
    received = this.webhook.eventOf(delivery),
  ): Promise<readonly TriggerEvent[]> {
    const { signatureScheme, teamUid, factoryUid } = delivery.webhook;
    if (signatureScheme !== SLACK_SCHEME) return [];
    const command = readSlackCommand(received.readPayload());
    if (command !== null) return [withCommand(received, command)];
    const message = readSlackMessage(received.readPayload());
    if (message === null) return [];
    const isOfRun =
      isInThread(message) && (await this.runs.hasRunWith(teamUid, sharedKeyOf(factoryUid, threadKey(message))));
    return eventsOf(message, isOfRun).map((event) => withDetails(received, event));
  }
}

export const isCommand = ({ provider, event }: TriggerEvent): boolean => provider === SLACK && event === 'command';

const isInThread = ({ kind, ts, threadTs }: SlackMessage): boolean => kind !== 'mention' && threadTs !== ts;

/** The same key: an automation with a webhook trigger for the delivery, too, starts one run for both. */
function withDetails(received: TriggerEvent, details: SlackMessageEvent): TriggerEvent {
  const { channel, user } = details;
  const name = threadName(details);
  const target = { key: threadKey(details), name, url: null, defaultPolicy: 'continue' } as const;
  const event = eventOfSlack(received, details, target, { Channel: channel, Thread: name, User: user });
  return { ...event, readPayload: () => withoutMentions(received.readPayload(), details) };
}

/** What a person works on in a channel is the target, so that the limits of events apply. */
function withCommand(received: TriggerEvent, details: SlackCommand): TriggerEvent {
  const { channel, user, command } = details;
  const target = { key: commandKey(details), name: `${channel}/${user}`, url: null };
  return eventOfSlack(received, details, target, { Command: command, Channel: channel, User: user });
}

/** `facts`: values by their labels, in their order. */
function eventOfSlack(
  received: TriggerEvent,
  details: SlackEvent,
  target: Omit<EventTarget, 'container'>,
  facts: Readonly<Record<string, string>>,
): TriggerEvent {
  const { event, team, channel } = details;
  return {
    ...received,
    provider: SLACK,
    event,
    subject: SUBJECT,
    source: 'SLACK',
    labels: { ...received.labels, channel, target: target.name },
    facts: [
      { label: 'Event', value: `${event} (${SLACK})` },
      ...Object.entries(facts).map(([label, value]) => ({ label, value: quoteValue(value) })),
      ...received.facts,
    ],
    target: { ...target, container: { key: channelKey(details), name: `${team}/${channel}` } },
    details,
  };
}

/** Registers the triggers of all events of Slack. */
@Injectable()
export class SlackTriggers implements OnModuleInit {
  constructor(
    private readonly providers: TriggerProviders,
    private readonly webhooks: WebhookDirectory,
    private readonly events: SlackDeliveries,
    private readonly webhook: WebhookTrigger,
  ) {}

  onModuleInit(): void {
    for (const event of SLACK_EVENT_NAMES)
      this.providers.register(new SlackTrigger(event, this.webhooks, this.events, this.webhook));
  }
}
