import { shortKey } from '#platform/kernel';
import { listAt, textAt } from '../forge-events/payload-fields.js';
import { valueAt } from '../placeholders.js';

export const SLACK = 'slack';
/** The signature scheme of the webhooks whose deliveries are events of Slack. */
export const SLACK_SCHEME = 'slack';

export const SLACK_EVENTS = {
  mention: 'The app is mentioned in a channel.',
  direct_message: 'Somebody writes a direct message to the app.',
  reply: 'Somebody writes in a thread that a run works for, without mentioning the app.',
  command: 'Somebody enters a command of the app, such as `/headrace`.',
} as const;
export type SlackEventName = keyof typeof SLACK_EVENTS;
export const SLACK_EVENT_NAMES = Object.keys(SLACK_EVENTS) as readonly SlackEventName[];

/** A message that a person has written. Messages of apps, edits and deletions are none. */
export interface SlackMessage {
  /** `message`: in a channel, without a mention of the app. */
  readonly kind: 'mention' | 'direct_message' | 'message';
  /** The workspace in which the app is installed. */
  readonly team: string;
  readonly channel: string;
  readonly user: string;
  /** Belongs to another workspace, or it is not known to which one. */
  readonly isForeign: boolean;
  /** Without the mentions of the app. */
  readonly text: string;
  /** The id of the message in the channel, such as `1355517523.000005`. */
  readonly ts: string;
  /** The id of the first message of its thread, which may be itself. */
  readonly threadTs: string;
}

/** {@link SlackMessage} as an event that a trigger can name. */
export interface SlackMessageEvent extends SlackMessage {
  readonly event: Exclude<SlackEventName, 'command'>;
}

/** A slash command that a person has entered. It is no message: it has no thread, and others do not see it. */
export interface SlackCommand extends Pick<SlackMessage, 'team' | 'channel' | 'user' | 'isForeign' | 'text'> {
  readonly event: 'command';
  /** With its slash. */
  readonly command: string;
}

export type SlackEvent = SlackMessageEvent | SlackCommand;

const ID = /^[A-Z][A-Z0-9]{1,30}$/;
const TS = /^\d{1,12}\.\d{6}$/;
/** Messages with other subtypes are edits, deletions, and what apps and Slack itself write. */
const SUBTYPES: ReadonlySet<unknown> = new Set([undefined, 'file_share', 'thread_broadcast']);
const COMMAND = /^\/[^\s/]{1,63}$/u;
const SLACKBOT = 'USLACKBOT';
/** Characters. Slack cuts longer messages. */
const MAX_TEXT = 40_000;
const MAX_KEY = 380;

const idAt = (payload: unknown, ...path: string[]): string | null => {
  const text = textAt(payload, ...path);
  return text !== null && ID.test(text) ? text : null;
};
const tsAt = (payload: unknown, ...path: string[]): string | null => {
  const text = textAt(payload, ...path);
  return text !== null && TS.test(text) ? text : null;
};

/** The message that a delivery of the Events API reports; null: it reports none that a run may work for. */
export function readSlackMessage(payload: unknown): SlackMessage | null {
  if (textAt(payload, 'type') !== 'event_callback') return null;
  const event = valueAt(payload, ['event']);
  const [installation] = listAt(payload, 'authorizations');
  const bot = idAt(installation, 'user_id');
  const team =
    idAt(installation, 'team_id') ??
    idAt(payload, 'context_team_id') ??
    idAt(payload, 'team_id') ??
    idAt(event, 'team');
  const channel = idAt(event, 'channel');
  const user = idAt(event, 'user');
  const ts = tsAt(event, 'ts');
  if (bot === null || team === null || channel === null || user === null || ts === null) return null;
  if (isOfApp(payload, event) || user === bot || user === SLACKBOT) return null;
  if (!SUBTYPES.has(valueAt(event, ['subtype'])) || valueAt(event, ['edited']) !== undefined) return null;
  const text = (textAt(event, 'text') ?? '').slice(0, MAX_TEXT).toWellFormed();
  const kind = kindOf(event, mentionOf(bot).test(text));
  if (kind === null) return null;
  return {
    kind,
    team,
    channel,
    user,
    isForeign: isForeign(payload, event, team),
    text: text.replace(mentionOf(bot), '').trim(),
    ts,
    threadTs: tsAt(event, 'thread_ts') ?? ts,
  };
}

/** The command that a form of Slack reports; null: it reports none. Apps cannot enter commands. */
export function readSlackCommand(payload: unknown): SlackCommand | null {
  const command = textAt(payload, 'command');
  const team = idAt(payload, 'team_id');
  const channel = idAt(payload, 'channel_id');
  const user = idAt(payload, 'user_id');
  if (command === null || !COMMAND.test(command) || team === null || channel === null || user === null) return null;
  const text = (textAt(payload, 'text') ?? '').slice(0, MAX_TEXT).toWellFormed().trim();
  // Slack offers commands to members of workspaces in which the app is installed only, and names theirs.
  return { event: 'command', team, channel, user, isForeign: false, text, command };
}

/** Also of this app: what it writes starts nothing. */
const isOfApp = (payload: unknown, event: unknown): boolean =>
  valueAt(event, ['bot_id']) !== undefined ||
  valueAt(event, ['bot_profile']) !== undefined ||
  (textAt(event, 'app_id') !== null && textAt(event, 'app_id') === textAt(payload, 'api_app_id'));

const mentionOf = (user: string): RegExp => new RegExp(`<@${user}(?:\\|[^<>]*)?>`, 'g');

/** Slack sends a message that mentions the app twice: as `app_mention` and as `message`. Direct messages only as the latter. */
function kindOf(event: unknown, mentionsApp: boolean): SlackMessage['kind'] | null {
  const type = textAt(event, 'type');
  if (type === 'app_mention') return 'mention';
  if (type !== 'message') return null;
  if (textAt(event, 'channel_type') === 'im') return 'direct_message';
  return mentionsApp ? null : 'message';
}

/** Members of other organizations can write in a channel that is shared with them. */
function isForeign(payload: unknown, event: unknown, team: string): boolean {
  const named = ['user_team', 'source_team', 'team'].flatMap((field) => textAt(event, field) ?? []);
  if (named.length > 0) return named.some((one) => one !== team);
  return valueAt(payload, ['is_ext_shared_channel']) === true || (textAt(payload, 'team_id') ?? team) !== team;
}

/** The payload with the text of the message without mentions of the app: what filters and placeholders see. */
export function withoutMentions(payload: unknown, { text }: Pick<SlackMessage, 'text'>): unknown {
  const { event, ...rest } = payload as { readonly event: object };
  return { ...rest, event: { ...event, text } };
}

/** The events of a message. `isOfRun`: a run was started or continued for its thread. */
export function eventsOf(message: SlackMessage, isOfRun: boolean): readonly SlackMessageEvent[] {
  const isReply = isOfRun && message.threadTs !== message.ts && message.kind !== 'mention';
  return [
    ...(isReply ? [{ ...message, event: 'reply' } as const] : []),
    ...(message.kind === 'message' ? [] : [{ ...message, event: message.kind } as const]),
  ];
}

export const channelKey = ({ team, channel }: Pick<SlackMessage, 'team' | 'channel'>): string =>
  shortKey(`${SLACK}:${team}:${channel}`, MAX_KEY);
/** The same for all messages of the thread, and no other one. */
export const threadKey = (message: SlackMessage): string =>
  shortKey(`${SLACK}:${message.team}:${message.channel}:${message.threadTs}`, MAX_KEY);
/** The same for all commands of the person in the channel. */
export const commandKey = ({ team, channel, user }: SlackCommand): string =>
  shortKey(`${SLACK}:${team}:${channel}:command:${user}`, MAX_KEY);
export const threadName = ({ channel, threadTs }: Pick<SlackMessage, 'channel' | 'threadTs'>): string =>
  `${channel}/${threadTs}`;
