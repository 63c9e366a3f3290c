import type { ArtifactType } from '#domain/runs';
import type { NotificationFormat } from './formats/notification-format.js';

/** The events of a subscription. `run.state_changed` includes all others, and those of future versions. */
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

/** Type of a test message; it is not part of a subscription. */
export const TEST_TYPE = 'webhook.test';

export const MAX_WEBHOOKS = 20;

/** After a rotation messages are also signed with the previous secret for this time. */
export const PREVIOUS_SECRET_MS = 24 * 3_600_000;

/** Runs that are reported, as on the wire: from one of the schedules or automations, and with an artifact of one of the types. */
export interface NotificationFilter {
  readonly schedule_ids?: readonly string[];
  readonly automation_ids?: readonly string[];
  readonly artifact_types?: readonly ArtifactType[];
}

export interface NotificationWebhookFields {
  readonly name: string;
  readonly url: string;
  readonly format: NotificationFormat;
  readonly events: readonly NotificationEvent[];
  /** Null: all runs of the team. */
  readonly filter: NotificationFilter | null;
  readonly enabled: boolean;
  /** Its messages have buttons that decide what a run waits for. */
  readonly decisions: boolean;
}

export interface NotificationWebhook extends NotificationWebhookFields {
  readonly uid: string;
  readonly teamUid: string;
  /** Why the service has disabled it; null when it is enabled or a user has disabled it. */
  readonly disabledReason: string | null;
  /** Another one when signed decisions of earlier messages are not valid any more. */
  readonly decisionsRevision: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export const sortedEvents = (events: readonly NotificationEvent[]): NotificationEvent[] =>
  NOTIFICATION_EVENTS.filter((event) => events.includes(event));
