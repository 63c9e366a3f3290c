import {
  ArrayField,
  BooleanField,
  DateTimeField,
  EnumField,
  MapField,
  object,
  ObjectField,
  StringField,
  text,
  type WebhookMessage,
} from '#platform/http';
import { NOTIFICATION_EVENTS, type NotificationEvent, TEST_TYPE } from '../domain/notification-webhook.js';

const OPTIONAL = { optional: true } as const;

class NotificationParty {
  @StringField({ description: 'Type of the user, service account or team.' }) type: string;
  @StringField({ description: 'UID of the user, service account or team.' }) uid: string;
}

class NotificationApproval {
  @StringField({ description: 'UUID of the permission request or question.' }) approval_id: string;
  @EnumField(['question'], { ...OPTIONAL, description: 'Present for a question of the agent to a person.' })
  kind?: 'question';
  @StringField({ description: 'Title that the agent gave to the request, or the text of the question.' }) title: string;
  @DateTimeField({ description: 'Time at which the request is denied without an answer.' }) expires_at: string;
  @StringField({ description: 'Page of the console that shows exactly this request. It authorizes nobody.' })
  link: string;
}

class NotificationStatusMessage {
  @StringField({ description: 'Text for people.' }) message: string;
  @StringField({ ...OPTIONAL, description: 'Stable error code of a run that failed.' }) error_code?: string;
  @BooleanField({ ...OPTIONAL, description: 'Whether another run with the same input may succeed.' })
  retryable?: boolean;
}

class NotificationArtifact {
  @StringField({ description: 'Type of the artifact.', example: 'PULL_REQUEST' }) artifact_type: string;
  @StringField({ ...OPTIONAL, description: 'Title or name of the file.' }) title?: string;
  @StringField({ ...OPTIONAL, description: 'URL, of a pull request or another reference.' }) url?: string;
}

class NotificationRun {
  @StringField({ description: 'UUID of the run.' }) run_id: string;
  @StringField({ description: 'State of the run after the event.', example: 'SUCCEEDED' }) state: string;
  @StringField({ ...OPTIONAL, description: 'Title of the run.' }) title?: string;
  @ObjectField(() => NotificationStatusMessage, { ...OPTIONAL, description: 'Reason for the state.' })
  status_message?: NotificationStatusMessage;
  @StringField({ ...OPTIONAL, description: 'The last message of the agent, at most 12,000 characters.' })
  result?: string;
  @ArrayField(object(() => NotificationArtifact), {
    ...OPTIONAL,
    description: 'What the run has made, the newest first, at most 20.',
  })
  artifacts?: NotificationArtifact[];
  @StringField({ ...OPTIONAL, description: 'What created the run.', example: 'API' }) source?: string;
  @DateTimeField({ description: 'Time of creation.' }) created_at: string;
  @DateTimeField({ description: 'Time of the last change; messages can be ordered by it.' }) updated_at: string;
  @DateTimeField({ ...OPTIONAL, description: 'Time at which the agent started.' }) started_at?: string;
  @StringField({ ...OPTIONAL, description: 'UUID of the conversation.' }) conversation_id?: string;
  @StringField({ ...OPTIONAL, description: 'UUID of the run that created this one.' }) parent_run_id?: string;
  @StringField({ ...OPTIONAL, description: 'Address of what triggered the run.' }) trigger_url?: string;
  @MapField(text(), { ...OPTIONAL, description: 'Metadata of the run.' }) metadata?: Record<string, string>;
  @StringField({ description: 'Address of the page of the run.' }) session_link: string;
  @ObjectField(() => NotificationParty, { description: 'Who created the run.' }) creator: NotificationParty;
  @ObjectField(() => NotificationParty, { description: 'Who executes the run.' }) executor: NotificationParty;
  @ObjectField(() => NotificationApproval, {
    ...OPTIONAL,
    description: 'The permission request or question that the run waits for; in `run.blocked` only.',
  })
  approval?: NotificationApproval;
  @ObjectField(() => NotificationParty, { description: 'The team that owns the run.' }) scope: NotificationParty;
}

class RunNotification {
  @EnumField(NOTIFICATION_EVENTS, { description: 'Type of the event.' }) type: NotificationEvent;
  @DateTimeField({ description: 'Time of the event.' }) timestamp: string;
  @ObjectField(() => NotificationRun, { description: 'The run after the event.' }) data: NotificationRun;
}

class TestNotificationData {
  @StringField({ description: 'UID of the notification webhook.' }) webhook_uid: string;
  @StringField({ description: 'Name of the notification webhook.' }) webhook_name: string;
}

class TestNotification {
  @EnumField([TEST_TYPE], { description: 'Type of the event.' }) type: string;
  @DateTimeField({ description: 'Time of the request that asked for the test.' }) timestamp: string;
  @ObjectField(() => TestNotificationData, { description: 'The webhook that is tested.' }) data: TestNotificationData;
}

const SUMMARIES: Readonly<Record<NotificationEvent, string>> = {
  'run.state_changed': 'A run ended or waits for a person',
  'run.succeeded': 'A run succeeded',
  'run.failed': 'A run failed because of its agent or its set-up',
  'run.errored': 'A run failed because of the platform',
  'run.cancelled': 'A run was cancelled',
  'run.blocked': 'A run waits for the answer to a permission request or a question',
};

/** Messages that notification webhooks receive, for the section `webhooks` of the OpenAPI document. */
export const NOTIFICATION_MESSAGES: readonly WebhookMessage[] = [
  ...NOTIFICATION_EVENTS.map((name) => ({ name, summary: SUMMARIES[name], payload: RunNotification })),
  { name: TEST_TYPE, summary: 'The test of a notification webhook', payload: TestNotification },
].map((message) => ({ ...message, tag: 'Notifications' }));
