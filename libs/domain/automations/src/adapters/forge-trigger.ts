import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Settings } from '#platform/config';
import { Clock, type Issue } from '#platform/kernel';
import type { Queryable } from '#platform/persistence';
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
import {
  EVENT_HEADER,
  FORGE_EVENT_NAMES,
  FORGE_PROVIDERS,
  type ForgeEvent,
  type ForgeEventName,
  type ForgeProvider,
  refOf,
  SCHEMES_OF,
  repositoryKey,
  SOURCE_OF,
  targetKey,
  targetName,
} from '../domain/forge-events/forge-event.js';
import { forgeChecks, forgeTriggerSchema, readForgeTrigger } from '../domain/forge-events/forge-filter.js';
import { githubKindOf, readGithubEvent } from '../domain/forge-events/github-event.js';
import { readGitlabEvents } from '../domain/forge-events/gitlab-event.js';
import { urlAt } from '../domain/forge-events/payload-fields.js';
import { type PullRequestState, readPullRequestState } from '../domain/forge-events/pull-request-state.js';
import { quoteValue } from '../domain/placeholders.js';
import { invalidFilterReason, type Trigger, type TriggerCheck, type TriggerEvent } from '../domain/trigger.js';
import { NO_DELIVERY, WebhookTrigger } from './webhook-trigger.js';

/** All events of a provider reach all its triggers in the factory. */
const SUBJECT = '';
const MAX_LABEL = 200;

/** A kind of event in repositories of GitHub or GitLab, which deliveries of their webhooks report. */
export class ForgeTrigger extends TriggerProvider {
  override readonly schema;

  constructor(
    override readonly provider: ForgeProvider,
    override readonly event: ForgeEventName,
    private readonly webhooks: WebhookDirectory,
    private readonly events: ForgeDeliveries,
    private readonly settings: Settings,
  ) {
    super();
    this.schema = forgeTriggerSchema(provider, event);
  }

  override validate(
    _tx: Queryable,
    _scope: TriggerScope,
    triggers: readonly Trigger[],
  ): Promise<readonly (readonly Issue[])[]> {
    const read = triggers.map((trigger) => readForgeTrigger(this.provider, this.event, trigger));
    return Promise.resolve(read.map((one) => (one.kind === 'invalid' ? one.issues : [])));
  }

  override subjectOf(): string {
    return SUBJECT;
  }

  override compile(trigger: Trigger): CompiledTrigger {
    const read = readForgeTrigger(this.provider, this.event, trigger);
    if (read.kind === 'invalid') {
      const reason = invalidFilterReason(read.issues);
      return { check: () => [{ check: 'event', passed: false, reason }] };
    }
    return {
      check: (given) => {
        const event = given.details as ForgeEvent | null;
        if (event?.event !== this.event) return [this.otherEvent(event)];
        const payload = given.readPayload();
        return forgeChecks(read.filter, { event, payload, agentEmail: this.settings.gitAuthorEmail });
      },
    };
  }

  override async obstacles(
    tx: Queryable,
    { factoryUid }: TriggerScope,
    triggers: readonly Trigger[],
  ): Promise<readonly (TriggerObstacle | undefined)[]> {
    const schemes = SCHEMES_OF[this.provider];
    const isReached = await this.webhooks.hasScheme(tx, factoryUid, schemes);
    const detail = `The factory has no webhook with the signature scheme ${schemes.join(' or ')}; it never fires.`;
    return triggers.map(() => (isReached ? undefined : { code: 'webhook_missing', detail }));
  }

  override async sample(
    tx: Queryable,
    scope: TriggerScope,
    _trigger: Trigger,
    sample: TriggerSample,
  ): Promise<SampledEvent> {
    if (sample.kind === 'payload') {
      const events = readEvents(this.provider, githubKindOf(this.event), sample.payload);
      const details = events.find(({ event }) => event === this.event) ?? events[0] ?? null;
      return { kind: 'event', event: this.events.sampleOf(scope, sample.payload, this.provider, details) };
    }
    const delivery = await this.webhooks.accepted(tx, scope.factoryUid, sample.deliveryId);
    if (!delivery) return { kind: 'invalid', issues: [{ pointer: '/delivery_id', detail: NO_DELIVERY }] };
    const events = this.events.eventsOf(delivery).filter(({ provider }) => provider === this.provider);
    const event = events.find((one) => one.event === this.event) ?? events[0];
    if (event) return { kind: 'event', event };
    return { kind: 'event', event: this.events.sampleOf(scope, null, this.provider, null) };
  }

  private otherEvent(event: ForgeEvent | null): TriggerCheck {
    const is = event ? `is ${event.event}` : `is no event that a trigger of ${this.provider} can name`;
    return { check: 'event', passed: false, reason: `The event ${is}; the trigger waits for ${this.event}.` };
  }
}

function readEvents(provider: ForgeProvider, kind: string, payload: unknown): readonly ForgeEvent[] {
  if (provider === 'gitlab') return readGitlabEvents(payload);
  const event = readGithubEvent(kind, payload);
  return event ? [event] : [];
}

/** The forge that has sent the delivery, and the kind that it has named. */
function sentBy({ webhook: { signatureScheme }, headers }: AcceptedDelivery) {
  const provider = FORGE_PROVIDERS.find((one) => signatureScheme !== null && SCHEMES_OF[one].includes(signatureScheme));
  const kind = provider && headers[EVENT_HEADER[provider]];
  return provider === undefined || kind === undefined ? null : { provider, kind };
}

/** Deliveries as events of GitHub or GitLab. */
@Injectable()
export class ForgeDeliveries {
  constructor(
    private readonly webhook: WebhookTrigger,
    private readonly clock: Clock,
  ) {}

  /** Without those that no trigger can name. `received`: the delivery as an event of its webhook. */
  eventsOf(delivery: AcceptedDelivery, received = this.webhook.eventOf(delivery)): readonly TriggerEvent[] {
    const sent = sentBy(delivery);
    if (sent === null) return [];
    const events = readEvents(sent.provider, sent.kind, received.readPayload());
    return events.map((details) => withDetails(received, sent.provider, details));
  }

  /** The state of the pull request that the delivery is about. */
  pullRequestOf(delivery: AcceptedDelivery): PullRequestState | null {
    const sent = this.sentOf(delivery);
    return sent && readPullRequestState(sent.provider, sent.kind, sent.readPayload());
  }

  /** Null: GitHub and GitLab have not sent it. */
  sentOf(delivery: AcceptedDelivery) {
    const sent = sentBy(delivery);
    return sent && { ...sent, readPayload: () => this.webhook.eventOf(delivery).readPayload() };
  }

  /** An event that was not delivered. */
  sampleOf(scope: TriggerScope, payload: unknown, provider: ForgeProvider, details: ForgeEvent | null): TriggerEvent {
    const received = this.webhook.eventOf({
      deliveryId: 'sample',
      webhook: { uid: '', name: 'sample', signatureScheme: null, ...scope },
      identity: '',
      receivedAt: this.clock.now(),
      body: Buffer.from(JSON.stringify(payload)),
      headers: {},
    });
    const event = { ...received, provider, readPayload: () => payload, details };
    return details ? withDetails(event, provider, details) : event;
  }
}

/** The same key: an automation with a webhook trigger for the delivery, too, starts one run for both. */
function withDetails(received: TriggerEvent, provider: ForgeProvider, details: ForgeEvent): TriggerEvent {
  const { event, repository, target, sender } = details;
  const name = targetName(provider, details);
  const address = urlAt(received.readPayload(), ...REPOSITORY_PAGE[provider]);
  // Filters compare the name.
  const page = address?.toLowerCase().endsWith(`/${repository.toLowerCase()}`) === true ? address : null;
  const ref = refOf(details);
  return {
    ...received,
    provider,
    event,
    subject: SUBJECT,
    source: SOURCE_OF[provider],
    labels: {
      ...received.labels,
      repository: repository.slice(0, MAX_LABEL),
      target: name.slice(0, MAX_LABEL),
    },
    facts: [
      { label: 'Event', value: `${event} (${provider})` },
      { label: 'Repository', value: quoteValue(repository) },
      { label: KIND_LABELS[target.kind], value: quoteValue(target.url ?? target.id) },
      { label: 'Sender', value: quoteValue(sender.name) },
      ...received.facts,
    ],
    ...(page !== null && { repository: { url: `${page}.git`, ...(ref !== undefined && { ref }) } }),
    target: {
      key: targetKey(provider, details),
      name,
      container: { key: repositoryKey(provider, details), name: repository },
      url: target.url,
    },
    details,
  };
}

const REPOSITORY_PAGE = { github: ['repository', 'html_url'], gitlab: ['project', 'web_url'] } as const;
const KIND_LABELS = { issue: 'Issue', pull_request: 'Pull request', branch: 'Branch', tag: 'Tag' } as const;

/** Registers the triggers of all events of all forges. */
@Injectable()
export class ForgeTriggers implements OnModuleInit {
  constructor(
    private readonly providers: TriggerProviders,
    private readonly webhooks: WebhookDirectory,
    private readonly events: ForgeDeliveries,
    private readonly settings: Settings,
  ) {}

  onModuleInit(): void {
    for (const provider of FORGE_PROVIDERS)
      for (const event of FORGE_EVENT_NAMES)
        this.providers.register(new ForgeTrigger(provider, event, this.webhooks, this.events, this.settings));
  }
}
