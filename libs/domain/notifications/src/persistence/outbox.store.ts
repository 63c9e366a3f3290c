import { Injectable } from '@nestjs/common';
import type { Queryable, Statement } from '#platform/persistence';
import { ANY_CHANGE, type NotificationEvent } from '../domain/notification-webhook.js';

export interface RunNotice {
  readonly type: NotificationEvent;
  /** The state after this change; the run may have another one at the end of the transaction. */
  readonly state: string;
  /** The permission request that the run waits for. */
  readonly approval?: Readonly<Record<string, unknown>>;
}

const time = (column: string): string => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/**
 * One message for each subscribed webhook of the team. A webhook that subscribes to the event by name gets it under that
 * name, and not a second time as `run.state_changed`. KEY SHARE omits a webhook that is being deleted; the foreign key
 * alone would fail the transaction, and with it the state change of the run.
 */
const ADD: Statement = {
  name: 'notifications.add',
  text: `INSERT INTO notification_deliveries (webhook_uid, run_id, type, data, next_attempt_at)
SELECT w.uid, r.id, CASE WHEN notice.type = ANY(w.events) THEN notice.type ELSE '${ANY_CHANGE}' END,
  jsonb_strip_nulls(jsonb_build_object(
    'run_id', r.id, 'state', notice.state, 'title', r.title,
    'status_message', CASE WHEN r.state = notice.state THEN r.status_message END,
    'source', r.source, 'created_at', ${time('r.created_at')}, 'updated_at', ${time('r.updated_at')},
    'started_at', ${time('r.started_at')}, 'conversation_id', r.conversation_id, 'parent_run_id', r.parent_run_id,
    'trigger_url', r.trigger_url, 'metadata', r.metadata, 'session_link', $4::text || r.id,
    'creator', jsonb_build_object('type', r.creator_type, 'uid', r.creator_uid),
    'executor', jsonb_build_object('type', r.executor_type, 'uid', r.executor_uid),
    'approval', notice.approval,
    'scope', jsonb_build_object('type', 'Team', 'uid', r.team_uid))),
  headrace.now()
 FROM runs r
 JOIN notification_webhooks w ON w.team_uid = r.team_uid
 JOIN unnest($2::text[], $3::text[], $5::jsonb[]) WITH ORDINALITY AS notice (type, state, approval, place)
   ON w.events && ARRAY[notice.type, '${ANY_CHANGE}']
WHERE r.id = $1 AND w.enabled
ORDER BY notice.place
FOR KEY SHARE OF w
RETURNING 1`,
};

@Injectable()
export class OutboxStore {
  /** Returns the number of messages. `pagesUrl`: the base URL of the pages of runs, with a trailing slash. */
  async add(tx: Queryable, runId: string, notices: readonly RunNotice[], pagesUrl: string): Promise<number> {
    const rows = await tx.query(ADD, [
      runId,
      notices.map(({ type }) => type),
      notices.map(({ state }) => state),
      pagesUrl,
      notices.map(({ approval }) => (approval === undefined ? null : JSON.stringify(approval))),
    ]);
    return rows.length;
  }
}
