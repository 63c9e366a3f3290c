import {
  ArrayField,
  BooleanField,
  DateTimeField,
  EnumField,
  IntegerField,
  object,
  ObjectField,
  oneOf,
  PageInfo,
  StringField,
  text,
} from '#platform/http';
import { ARTIFACT_TYPES, type ArtifactType } from '#domain/runs';
import { NOTIFICATION_STATUSES, type NotificationStatus } from '../domain/notification-delivery.js';
import { NOTIFICATION_FORMATS, type NotificationFormat } from '../domain/formats/notification-format.js';
import { DEFAULT_EVENTS, NOTIFICATION_EVENTS, type NotificationEvent } from '../domain/notification-webhook.js';

const OPTIONAL = { optional: true } as const;
const EVENT = oneOf(NOTIFICATION_EVENTS, 'NotificationEvent');
const EVENTS = { minItems: 1, maxItems: NOTIFICATION_EVENTS.length };
const FORMAT = {
  name: 'NotificationFormat',
  description:
    '`json`: signed messages for programs. The others are messages of chat services: Slack, Discord and Microsoft Teams.',
};
const NAME = { blank: false, max: 200, description: 'Name of the notification webhook.', example: 'deploys' };
const TARGET = {
  blank: false,
  max: 2048,
  description: 'URL of the receiver: `https`, a public host, no user, password or fragment.',
  example: 'https://hooks.example.com/headrace',
};

const DECISIONS = {
  description:
    'Messages about a run that waits have buttons that decide, for the formats slack, discord and teams. Everybody who can read the messages can decide: the buttons ask for no sign-in.',
};

const IDS = { ...OPTIONAL, minItems: 1, maxItems: 50 };

export class NotificationFilterItem {
  @ArrayField(text({ max: 64, blank: false }), {
    ...IDS,
    description: 'Runs of one of these schedules, or of `automation_ids`.',
  })
  schedule_ids?: string[];
  @ArrayField(text({ max: 64, blank: false }), {
    ...IDS,
    description: 'Runs of one of these automations, or of `schedule_ids`.',
  })
  automation_ids?: string[];
  @ArrayField(oneOf(ARTIFACT_TYPES, 'ArtifactType'), {
    ...OPTIONAL,
    minItems: 1,
    maxItems: ARTIFACT_TYPES.length,
    description: 'Runs that have an artifact of one of these types at the time of the event.',
  })
  artifact_types?: ArtifactType[];
}

const FILTER = {
  ...OPTIONAL,
  nullable: true,
  description: 'Runs that are reported. Default: all runs of the team.',
} as const;

export class CreateNotificationWebhookRequest {
  @StringField(NAME) name: string;
  @StringField(TARGET) url: string;
  @EnumField(NOTIFICATION_FORMATS, {
    ...OPTIONAL,
    ...FORMAT,
    description: `${FORMAT.description} Default: by the host of the URL.`,
  })
  format?: NotificationFormat;
  @ArrayField(EVENT, {
    ...OPTIONAL,
    ...EVENTS,
    description: `Events that are delivered. \`run.state_changed\` includes all others, and those of future versions. Default: ${DEFAULT_EVENTS.join(', ')}.`,
  })
  events?: NotificationEvent[];
  @ObjectField(() => NotificationFilterItem, FILTER) filter?: NotificationFilterItem | null;
  @BooleanField({ ...OPTIONAL, description: 'Default: true.' }) enabled?: boolean;
  @BooleanField({ ...OPTIONAL, description: `${DECISIONS.description} Default: false.` }) decisions?: boolean;
}

export class UpdateNotificationWebhookRequest {
  @StringField({ ...NAME, ...OPTIONAL }) name?: string;
  @StringField({ ...TARGET, ...OPTIONAL }) url?: string;
  @EnumField(NOTIFICATION_FORMATS, { ...OPTIONAL, ...FORMAT }) format?: NotificationFormat;
  @ArrayField(EVENT, { ...OPTIONAL, ...EVENTS, description: 'Events that are delivered.' })
  events?: NotificationEvent[];
  @ObjectField(() => NotificationFilterItem, {
    ...FILTER,
    description: 'Runs that are reported; null: all runs of the team.',
  })
  filter?: NotificationFilterItem | null;
  @BooleanField({
    ...OPTIONAL,
    description: 'Whether notifications are sent. true also resets `disabled_reason` and the count of failures.',
  })
  enabled?: boolean;
  @BooleanField({
    ...OPTIONAL,
    description: `${DECISIONS.description} Buttons of earlier messages are not valid any more when this, \`enabled\` or \`url\` changes.`,
  })
  decisions?: boolean;
}

export class NotificationWebhookItem {
  @StringField({ pattern: /^[A-Za-z0-9]{22}$/, description: 'UID of the notification webhook.' }) uid: string;
  @StringField({ description: 'Name of the notification webhook.' }) name: string;
  @StringField({ description: 'URL of the receiver; without path and query for callers that may not manage webhooks.' })
  url: string;
  @EnumField(NOTIFICATION_FORMATS, FORMAT) format: NotificationFormat;
  @ArrayField(EVENT, { description: 'Events that are delivered.' }) events: NotificationEvent[];
  @ObjectField(() => NotificationFilterItem, {
    ...OPTIONAL,
    description: 'Runs that are reported. Absent: all runs of the team.',
  })
  filter?: NotificationFilterItem;
  @BooleanField({ description: 'Whether notifications are sent.' }) enabled: boolean;
  @BooleanField(DECISIONS) decisions: boolean;
  @StringField({ ...OPTIONAL, description: 'Why the service has disabled the webhook.' }) disabled_reason?: string;
  @StringField({
    description:
      'Signs messages by Standard Webhooks. In clear text (`whsec_…`) only in the response to the request that generated it, otherwise `***`.',
  })
  secret: string;
  @DateTimeField({ description: 'Time of creation.' }) created_at: string;
  @DateTimeField({ description: 'Time of the last change.' }) updated_at: string;
}

export class ListNotificationWebhooksResponse {
  @ArrayField(object(() => NotificationWebhookItem), { description: 'The notification webhooks of the team.' })
  notification_webhooks: NotificationWebhookItem[];
}

export class NotificationAttempt {
  @DateTimeField({ description: 'Time at which the attempt ended.' }) at: string;
  @IntegerField({ description: 'Duration of the attempt in milliseconds.' }) duration_ms: number;
  @IntegerField({ ...OPTIONAL, description: 'HTTP status of the response; absent when none arrived.' })
  response_status?: number;
  @StringField({
    ...OPTIONAL,
    description: 'The first KB of the response body; only for callers that may manage webhooks.',
  })
  response_body?: string;
  @StringField({ ...OPTIONAL, description: 'Why there was no response.' }) error?: string;
}

export class NotificationDelivery {
  @StringField({
    description: 'ID of the delivery: the `webhook-id` header of every attempt.',
    example: 'msg_0f6f6d2b1c5e4f0aa7d3c1b2e4f5a6b7',
  })
  delivery_id: string;
  @StringField({ description: 'Type of the message: an event, or `webhook.test`.', example: 'run.succeeded' })
  type: string;
  @StringField({ ...OPTIONAL, description: 'ID of the run that the notification is about.' }) run_id?: string;
  @EnumField(NOTIFICATION_STATUSES, {
    name: 'NotificationDeliveryStatus',
    description: '`failed`: abandoned. `dropped`: the webhook was disabled before the message was sent.',
  })
  status: NotificationStatus;
  @IntegerField({ description: 'Number of attempts that were started.' }) attempt_count: number;
  @ArrayField(object(() => NotificationAttempt), { description: 'The attempts, oldest first.' })
  attempts: NotificationAttempt[];
  @DateTimeField({ ...OPTIONAL, description: 'Time of the next attempt, of a pending delivery.' })
  next_attempt_at?: string;
  @DateTimeField({ description: 'Time of creation.' }) created_at: string;
  @DateTimeField({ ...OPTIONAL, description: 'Time at which the delivery succeeded or was abandoned.' })
  finished_at?: string;
}

export class ListNotificationDeliveriesParameters {
  @IntegerField({ ...OPTIONAL, min: 1, max: 100, default: 20, description: 'Maximum number of entries in a page.' })
  limit?: number;
  @StringField({ ...OPTIONAL, blank: false, max: 4096, description: '`next_cursor` of the previous page.' })
  cursor?: string;
}

export class ListNotificationDeliveriesResponse {
  @ArrayField(object(() => NotificationDelivery), { description: 'The deliveries, newest first.' })
  deliveries: NotificationDelivery[];
  @ObjectField(() => PageInfo, { description: 'Whether there is another page, and its cursor.' }) page_info: PageInfo;
}
