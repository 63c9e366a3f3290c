import { Injectable } from '@nestjs/common';
import { type Approval, APPROVAL_STATES, approvalColumns, type ApprovalState } from '#execution/executions';
import type { Caller } from '#platform/auth';
import { Settings } from '#platform/config';
import { PageCursors } from '#platform/kernel';
import { Database, statement } from '#platform/persistence';
import { ownersOf } from './runs.service.js';

export type ListedApproval = Approval & {
  readonly run_title: string;
  /** Of the list's order: microseconds of `requested_at` count. */
  readonly position: string;
};

/** Larger inputs are left out: the list of the run has them. */
const MAX_INPUT_BYTES = 32_768;

/**
 * Newest first over owners and states, each pair from its own place in the index. What waits is left out when nobody can
 * answer it any more: the run was cancelled or failed, and its runner has not said its last word yet.
 */
const LIST = statement('approvals.inbox')`
  SELECT ${approvalColumns('a', `a.input_bytes <= ${MAX_INPUT_BYTES}`)}, r.title AS run_title, to_char(a.requested_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS position
  FROM unnest($1::text[]) AS o (slot_key) CROSS JOIN unnest($2::text[]) AS s (state)
  CROSS JOIN LATERAL (
    SELECT c.* FROM approvals c
     WHERE c.slot_key = o.slot_key AND c.state = s.state
       AND (c.requested_at, c.run_id, c.id) < ($3::timestamptz, $4::uuid, $5::text)
       AND (c.state <> 'pending' OR EXISTS (
         SELECT 1 FROM runs b LEFT JOIN executions e ON e.id = c.execution_id
          WHERE b.id = c.run_id AND (b.state = 'BLOCKED' OR (e.phase = 'debug' AND e.desired = 'run'))))
     ORDER BY c.requested_at DESC, c.run_id DESC, c.id DESC LIMIT $6
  ) a
  JOIN runs r ON r.id = a.run_id
 ORDER BY a.requested_at DESC, a.run_id DESC, a.id DESC LIMIT $6`;

/** A place in front of the newest one; a condition that may be left out would keep the index from being entered there. */
const BEFORE_ALL = ['infinity', 'ffffffff-ffff-ffff-ffff-ffffffffffff', ''];

@Injectable()
export class ApprovalInbox {
  private readonly cursors: PageCursors;

  constructor(
    private readonly database: Database,
    settings: Settings,
  ) {
    this.cursors = new PageCursors('approval', settings);
  }

  /** @param state null: any. */
  async list(caller: Caller, state: ApprovalState | null, limit: number, cursor: string | null) {
    const owners = ownersOf(caller);
    const query = { owners, state };
    const after = this.cursors.decode(cursor, query);
    if (after === null) return { kind: 'invalid_cursor' } as const;
    const states = state === null ? APPROVAL_STATES : [state];
    const position = after.length === 0 ? BEFORE_ALL : after;
    const rows = await this.database.query<ListedApproval>(LIST, [owners, states, ...position, limit + 1]);
    const page = this.cursors.page(rows, limit, query, (last) => [last.position, last.run_id, last.id]);
    return { kind: 'page', ...page } as const;
  }
}
