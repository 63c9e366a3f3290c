import { createHmac, randomBytes } from 'node:crypto';
import { maskSecrets } from '#platform/kernel';
import { chatMessageOf, type DecisionButton, type RunOutcome } from './formats/chat-message.js';
import { discordMessage } from './formats/discord.js';
import type { NotificationFormat } from './formats/notification-format.js';
import { slackMessage } from './formats/slack.js';
import { teamsMessage } from './formats/teams.js';

export const NOTIFICATION_STATUSES = ['pending', 'delivered', 'failed', 'dropped'] as const;
/** `failed`: abandoned. `dropped`: the webhook was disabled before the message was sent. */
export type NotificationStatus = (typeof NOTIFICATION_STATUSES)[number];

export interface AttemptRecord {
  /** Time of its end, RFC 3339. */
  readonly at: string;
  readonly duration_ms: number;
  readonly response_status?: number;
  /** The first KB. */
  readonly response_body?: string;
  readonly error?: string;
}

export interface StoredNotification {
  readonly id: string;
  /** The same for all attempts. */
  readonly messageId: string;
  readonly runId: string | null;
  readonly type: string;
  readonly status: NotificationStatus;
  /** Attempts that were started; one that was interrupted by a crash has no log entry. */
  readonly attempts: number;
  readonly log: readonly AttemptRecord[];
  readonly nextAttemptAt: Date | null;
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
}

export interface ClaimedNotification {
  readonly id: string;
  readonly messageId: string;
  /** Number of the attempt, from 1; a later claim of the message has a higher number. */
  readonly attempt: number;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly createdAt: Date;
  /** Of a message about a run; null for a test. */
  readonly runId: string | null;
  /** The position in the log of the run at which the message was written. */
  readonly runSeq: string | null;
  readonly webhookUid: string;
  readonly url: string;
  readonly format: NotificationFormat;
  readonly enabled: boolean;
  readonly teamUid: string;
  readonly decisions: boolean;
  readonly decisionsRevision: number;
  /** Encrypted; the newest first. */
  readonly secrets: readonly string[];
}

const MAX_RESULT_LENGTH = 12_000;

/**
 * The body of a request. `found`: null for a test, for a run that waits, and when the run does not exist any more. `buttons`: of a
 * message about a run that waits; not in JSON.
 */
export function messageOf(
  { type, createdAt, data, format }: Pick<ClaimedNotification, 'type' | 'createdAt' | 'data' | 'format'>,
  found: RunOutcome | null,
  buttons: readonly DecisionButton[] = [],
): string {
  const outcome = found && shown(found);
  if (format !== 'json') return JSON.stringify(CHATS[format](chatMessageOf(type, data, outcome, buttons)));
  const result = outcome?.result ?? null;
  const artifacts = outcome?.artifacts.map((artifact) => ({
    artifact_type: artifact.type,
    ...(artifact.title !== null && { title: artifact.title }),
    ...(artifact.url !== null && { url: artifact.url }),
  }));
  return JSON.stringify({
    type,
    timestamp: createdAt.toISOString(),
    data: { ...data, ...(result !== null && { result }), ...(artifacts && { artifacts }) },
  });
}

/** Known credentials are masked before the end is cut. */
function shown(found: RunOutcome): RunOutcome {
  const outcome = maskSecrets(found) as RunOutcome;
  return { ...outcome, result: outcome.result?.slice(0, MAX_RESULT_LENGTH) ?? null };
}

const CHATS = { slack: slackMessage, discord: discordMessage, teams: teamsMessage };

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/** A Standard Webhooks secret: `whsec_` and the key in base64. */
export const newSecret = (): string => PREFIX + randomBytes(SECRET_BYTES).toString('base64');

/** `v1,…`: HMAC-SHA256 over `id.timestamp.body`, in base64. `timestamp` is in seconds. */
export function signatureOf(secret: string, messageId: string, timestamp: number, body: string): string {
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
  return `v1,${createHmac('sha256', key).update(`${messageId}.${timestamp}.${body}`).digest('base64')}`;
}

/** The Standard Webhooks headers, with a signature for each secret. */
export const signedHeaders = (
  secrets: readonly string[],
  messageId: string,
  timestamp: number,
  body: string,
): Record<string, string> => ({
  'webhook-id': messageId,
  'webhook-timestamp': String(timestamp),
  'webhook-signature': secrets.map((secret) => signatureOf(secret, messageId, timestamp, body)).join(' '),
});
