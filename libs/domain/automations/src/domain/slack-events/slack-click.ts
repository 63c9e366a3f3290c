import { listAt, textAt } from '../forge-events/payload-fields.js';

/** A press of a button in a message of a run. */
export interface SlackClick {
  /** The workspace of the user. */
  readonly team: string;
  readonly user: string;
  readonly userName: string;
  readonly channel: string;
  readonly threadTs: string;
  /** The signed decision. */
  readonly value: string;
  readonly responseUrl: string | null;
}

/** Null: another interaction, such as a click on a link. */
export function readSlackClick(payload: unknown): SlackClick | null {
  if (textAt(payload, 'type') !== 'block_actions') return null;
  const [action] = listAt(payload, 'actions');
  const value = textAt(action, 'value');
  const user = textAt(payload, 'user', 'id');
  const team = textAt(payload, 'user', 'team_id');
  const channel = textAt(payload, 'channel', 'id') ?? textAt(payload, 'container', 'channel_id');
  const threadTs = textAt(payload, 'container', 'thread_ts') ?? textAt(payload, 'message', 'thread_ts');
  if (value === null || user === null || team === null || channel === null || threadTs === null) return null;
  const userName = textAt(payload, 'user', 'name') ?? textAt(payload, 'user', 'username') ?? user;
  return { team, user, userName, channel, threadTs, value, responseUrl: textAt(payload, 'response_url') };
}
