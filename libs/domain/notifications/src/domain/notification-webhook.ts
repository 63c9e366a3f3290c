/** What a webhook can ask for. `run.state_changed` stands for all of the others, and for those that may come. */
export const NOTIFICATION_EVENTS = [
  'run.state_changed',
  'run.succeeded',
  'run.failed',
  'run.errored',
  'run.cancelled',
  'run.blocked',
] as const;
export type NotificationEvent = (typeof NOTIFICATION_EVENTS)[number];

export const ANY_CHANGE = 'run.state_changed' satisfies NotificationEvent;

export const DEFAULT_EVENTS: readonly NotificationEvent[] = NOTIFICATION_EVENTS.filter((event) => event !== ANY_CHANGE);

/** What a test call sends; nobody can subscribe to it. */
export const TEST_TYPE = 'webhook.test';

export const MAX_WEBHOOKS = 20;

/** For this long after a new secret was made, messages are signed with the old one too. */
export const OLD_SECRET_MS = 24 * 3_600_000;

export interface WebhookFields {
  readonly name: string;
  readonly url: string;
  readonly events: readonly NotificationEvent[];
  readonly enabled: boolean;
}

/** What is left out stays as it is. */
export type WebhookChanges = Partial<WebhookFields>;

export interface NotificationWebhook extends WebhookFields {
  readonly uid: string;
  readonly teamUid: string;
  /** Why this service has disabled it; null when nobody or a person has. */
  readonly disabledReason: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** Each once, in the order of {@link NOTIFICATION_EVENTS}. */
export const sortedEvents = (events: readonly NotificationEvent[]): NotificationEvent[] =>
  NOTIFICATION_EVENTS.filter((event) => events.includes(event));
