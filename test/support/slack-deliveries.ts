import { createHmac } from 'node:crypto';
import type { AppMentionEvent, GenericMessageEvent } from '@slack/types';

export const TEAM = 'T061EG9R6';
export const CHANNEL = 'C024BE91L';
export const BOT = 'U0LAN0Z89';
const APP = 'A0PNCHHK2';

let lastEvent = 0;

/** The headers of Slack for a request to an app with this signing secret. */
export function slackSignature(body: string, secret: string): Record<string, string> {
  const time = String(Math.floor(Date.now() / 1000));
  const signature = `v0=${createHmac('sha256', secret).update(`v0:${time}:${body}`).digest('hex')}`;
  return { 'x-slack-request-timestamp': time, 'x-slack-signature': signature };
}

/**
 * A callback of the Events API, with the fields of the examples in https://docs.slack.dev/apis/events-api and
 * …/reference/events/app_mention.
 */
export function slackCallback(event: object, envelope: object = {}) {
  lastEvent += 1;
  return {
    token: 'ZZZZZZWSxiZZZ2yIvs3peJ',
    team_id: TEAM,
    context_team_id: TEAM,
    api_app_id: APP,
    event: { team: TEAM, user: 'U061F7AUR', channel: CHANNEL, event_ts: '1515449522.000016', ...event },
    type: 'event_callback',
    event_id: `Ev0LAN${String(lastEvent).padStart(6, '0')}`,
    event_time: 1515449522016,
    authorizations: [{ enterprise_id: null, team_id: TEAM, user_id: BOT, is_bot: true, is_enterprise_install: false }],
    is_ext_shared_channel: false,
    event_context: '4-eyJldCI6ImFwcF9tZW50aW9uIn0',
    ...envelope,
  };
}

export const mention = (fields: Partial<AppMentionEvent> & object = {}, envelope: object = {}) =>
  slackCallback(
    { type: 'app_mention', text: `<@${BOT}> is it everything a river should be?`, ts: '1515449522.000016', ...fields },
    envelope,
  );

export const message = (fields: Partial<GenericMessageEvent> & object = {}, envelope: object = {}) =>
  slackCallback(
    { type: 'message', channel_type: 'channel', text: 'Hello world', ts: '1515449530.000020', ...fields },
    envelope,
  );

/** https://docs.slack.dev/reference/interaction-payloads/block_actions-payload */
export function blockActions(fields: {
  readonly value: string;
  readonly messageTs: string;
  readonly threadTs: string;
  readonly responseUrl: string;
  readonly user?: string;
  readonly team?: string;
}) {
  const { value, messageTs, threadTs, responseUrl, user = 'U061F7AUR', team = TEAM } = fields;
  lastEvent += 1;
  return {
    type: 'block_actions',
    user: { id: user, username: 'ann', name: 'ann', team_id: team },
    api_app_id: APP,
    token: 'Shh_its_a_seekrit',
    container: {
      type: 'message',
      message_ts: messageTs,
      channel_id: CHANNEL,
      is_ephemeral: false,
      thread_ts: threadTs,
    },
    trigger_id: `12466734323.${lastEvent}`,
    team: { id: TEAM, domain: 'example' },
    channel: { id: CHANNEL, name: 'general' },
    message: { bot_id: 'B0LAN0Z89', type: 'message', text: 'A run', user: BOT, ts: messageTs, thread_ts: threadTs },
    response_url: responseUrl,
    actions: [
      {
        action_id: 'headrace_allow',
        block_id: '=qXel',
        text: { type: 'plain_text', text: 'Allow', emoji: false },
        value,
        type: 'button',
        action_ts: `1548426417.${String(lastEvent).padStart(6, '0')}`,
      },
    ],
  };
}

/** https://docs.slack.dev/interactivity/implementing-slash-commands */
export function slashCommand(fields: Readonly<Record<string, string>>): string {
  lastEvent += 1;
  return new URLSearchParams({
    token: 'gIkuvaNzQIHg97ATvDxqgjtO',
    team_id: TEAM,
    team_domain: 'example',
    channel_id: CHANNEL,
    channel_name: 'test',
    user_id: 'U061F7AUR',
    user_name: 'ann',
    command: '/headrace',
    text: 'is it everything a river should be?',
    api_app_id: APP,
    is_enterprise_install: 'false',
    trigger_id: `13345224609.738474920.${lastEvent}`,
    ...fields,
  }).toString();
}
