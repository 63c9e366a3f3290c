import { Injectable } from '@nestjs/common';
import { Settings } from '#libs/config';
import { Database, type Statement } from '#libs/persistence';
import { COMMANDS_CHANNEL, STOP_FENCE_MS } from '../../domain/lease.js';
import { HOSTED_POOL } from '../../domain/run.js';
import { PlacementNudge } from '../ports.js';

const CLOSE_BEYOND: Statement = {
  name: 'executions.close-idle-beyond',
  text: `WITH surplus AS (
    SELECT e.id FROM executions e
     WHERE e.id IN (SELECT id FROM executions WHERE pool = $1 AND phase = 'idle' AND desired = 'run' ORDER BY idle_since DESC OFFSET $2)
       AND NOT EXISTS (SELECT 1 FROM run_followups f WHERE f.run_id = e.run_id AND f.consumed_at IS NULL)
     FOR UPDATE OF e SKIP LOCKED LIMIT 100
  ), closed AS (
    UPDATE executions SET desired = 'close', desired_reason = 'max_idle_sessions', command_version = command_version + 1,
      fence_at = headrace.now() + interval '${STOP_FENCE_MS} milliseconds'
     WHERE id IN (SELECT id FROM surplus) AND phase = 'idle' RETURNING id)
  SELECT pg_notify('${COMMANDS_CHANNEL}', id::text) FROM closed`,
};

const CLOSE_OVERDUE: Statement = {
  name: 'executions.close-idle-overdue',
  text: `WITH overdue AS (
    SELECT e.id FROM executions e
     WHERE e.phase = 'idle' AND e.desired = 'run' AND e.idle_since + e.idle_timeout_ms * interval '1 millisecond' <= headrace.now()
       AND NOT EXISTS (SELECT 1 FROM run_followups f WHERE f.run_id = e.run_id AND f.consumed_at IS NULL)
     FOR UPDATE OF e SKIP LOCKED LIMIT 100
  ), closed AS (
    UPDATE executions SET desired = 'close', desired_reason = 'idle_timeout', command_version = command_version + 1,
      fence_at = headrace.now() + interval '${STOP_FENCE_MS} milliseconds'
     WHERE id IN (SELECT id FROM overdue) RETURNING id)
  SELECT pg_notify('${COMMANDS_CHANNEL}', id::text) FROM closed`,
};

/** Sessions that stay open after their turn: they hold no slot, but memory. */
@Injectable()
export class IdleSessions {
  constructor(
    private readonly database: Database,
    private readonly settings: Settings,
    private readonly nudge: PlacementNudge,
  ) {}

  /** After a turn: another run may take the slot, and the oldest idle session beyond the limit is closed. */
  async slotFreed(): Promise<void> {
    this.nudge.nudge();
    await this.database.query(CLOSE_BEYOND, [HOSTED_POOL, this.settings.maxIdleSessions]);
  }

  async closeOverdue(): Promise<void> {
    await this.database.query(CLOSE_OVERDUE);
  }
}
