import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { BackgroundTasks } from '#platform/jobs';
import { Database, statement } from '#platform/persistence';
import { COMMANDS_CHANNEL, STOP_FENCE_MS } from '../domain/lease.js';
import { HOSTED_POOL, MAX_DEBUG_TURN_MS, type WorkerPoolKeys } from '../domain/run.js';
import { debugActive } from '../persistence/run-status-sql.js';
import { PLACE_RUNS_TASK } from './tasks.js';

/** A statement that commands the executions to end whose ids the SQL selects. */
const ending =
  (name: string, desired: 'close' | 'stop', reason: string) =>
  (text: TemplateStringsArray, ...sql: readonly (string | number)[]) =>
    statement(name)`
  WITH chosen AS (${String.raw({ raw: text }, ...sql)}), closed AS (
    UPDATE executions SET desired = '${desired}', desired_reason = '${reason}', command_version = command_version + 1,
      fence_at = headrace.now() + interval '${STOP_FENCE_MS} milliseconds'
     WHERE id IN (SELECT id FROM chosen) RETURNING id)
  SELECT pg_notify('${COMMANDS_CHANNEL}', id::text) FROM closed`;

const FREE_NOW = `SKIP LOCKED LIMIT 100`;
/**
 * A message that was accepted between the look and the lock is not seen by the look; but it has moved `command_version`, and
 * the row, read again when it is locked, has another version than the one that was seen.
 */
const AS_SEEN = `executions e JOIN executions seen ON seen.id = e.id AND seen.command_version = e.command_version`;

/** Both kinds count alike; each is found by its own partial index. */
const CLOSE_BEYOND = ending('executions.close-idle-beyond', 'close', 'max_idle_sessions')`
    SELECT e.id FROM ${AS_SEEN}
     WHERE e.id IN (SELECT id FROM (
         SELECT id, idle_since FROM executions WHERE pool = $1 AND phase = 'idle' AND desired = 'run'
         UNION ALL
         SELECT id, idle_since FROM executions WHERE pool = $1 AND phase = 'debug' AND busy_since IS NULL AND desired = 'run'
       ) waiting ORDER BY idle_since DESC OFFSET $2)
       AND (e.phase = 'idle' OR (e.phase = 'debug' AND e.busy_since IS NULL))
       AND NOT EXISTS (SELECT 1 FROM run_followups f WHERE f.run_id = e.run_id AND f.consumed_at IS NULL
         AND (e.phase = 'idle' OR f.debug_execution_id = e.id))
     FOR UPDATE OF e ${FREE_NOW}`;

/** One at a time: of a host that is full, the session that has been idle the longest. */
const CLOSE_OLDEST_ON_WORKER = ending('executions.close-idle-on-worker', 'close', 'worker_full')`
    SELECT e.id FROM ${AS_SEEN}
     WHERE e.pool = $1 AND e.slot_key = $2 AND e.phase = 'idle' AND e.desired = 'run'
       AND NOT EXISTS (SELECT 1 FROM run_followups f WHERE f.run_id = e.run_id AND f.consumed_at IS NULL)
       AND NOT EXISTS (SELECT 1 FROM executions c
         WHERE c.pool = $1 AND c.slot_key = $2 AND c.phase = 'idle' AND c.desired <> 'run')
     ORDER BY e.idle_since LIMIT 1 FOR UPDATE OF e SKIP LOCKED`;

const CLOSE_OVERDUE = ending('executions.close-idle-overdue', 'close', 'idle_timeout')`
    SELECT e.id FROM ${AS_SEEN}
     WHERE e.phase = 'idle' AND e.desired = 'run' AND e.idle_since + e.idle_timeout_ms * interval '1 millisecond' <= headrace.now()
       AND NOT EXISTS (SELECT 1 FROM run_followups f WHERE f.run_id = e.run_id AND f.consumed_at IS NULL)
     FOR UPDATE OF e ${FREE_NOW}`;

/** A message that is accepted meanwhile moves `debug_until` on, so that the condition fails for the locked row. */
const CLOSE_DEBUG = ending('executions.close-debug-overdue', 'close', 'debug_window_closed')`
    SELECT e.id FROM executions e
     WHERE e.phase = 'debug' AND e.desired = 'run' AND e.debug_until <= headrace.now() AND NOT ${debugActive('e')}
     FOR UPDATE OF e ${FREE_NOW}`;

const STOP_DEBUG = ending('executions.stop-debug-turns', 'stop', 'debug_turn_too_long')`
    SELECT e.id FROM executions e
     WHERE e.phase = 'debug' AND e.desired = 'run' AND e.busy_since + interval '${MAX_DEBUG_TURN_MS} milliseconds' <= headrace.now()
     FOR UPDATE OF e ${FREE_NOW}`;

/** Run before execution, and nobody is waited for: this order is the one in which everybody locks them. */
const KEEP_OPEN = statement('executions.keep-debug-open')`WITH chosen AS (
    SELECT e.id, e.run_id FROM executions e JOIN runs r ON r.id = e.run_id
     WHERE e.phase = 'debug' AND e.desired = 'run' AND e.debug_until <= headrace.now() AND ${debugActive('e')}
     FOR NO KEY UPDATE OF r, e ${FREE_NOW}
  ), kept AS (
    UPDATE executions SET debug_until = headrace.now() + coalesce(debug_window_ms, 0) * interval '1 millisecond'
     WHERE id IN (SELECT id FROM chosen))
  UPDATE runs SET updated_at = headrace.now() WHERE id IN (SELECT run_id FROM chosen)`;

/** Sessions that stay open without work, after their turn or in a debug window: they hold no slot, but memory. */
@Injectable()
export class IdleSessions {
  constructor(
    private readonly database: Database,
    private readonly settings: Settings,
    private readonly tasks: BackgroundTasks,
  ) {}

  /** `isIdle`: the session that had the slot stays open. */
  async slotFreed(isIdle: boolean): Promise<void> {
    this.tasks.wake(PLACE_RUNS_TASK);
    if (isIdle) await this.closeBeyond();
  }

  /** A run waits because the workers of this pool are full: their oldest idle session is closed. */
  async closeOldestOn({ pool, slotKey }: WorkerPoolKeys): Promise<void> {
    await this.database.query(CLOSE_OLDEST_ON_WORKER, [pool, slotKey]);
  }

  /** Also those beyond the limit that somebody held locked in the moment after their turn. */
  async closeOverdue(): Promise<void> {
    await this.database.query(CLOSE_OVERDUE);
    await this.closeBeyond();
  }

  /** Debug windows that are over close, unless their agent is at work; work without an end is stopped. */
  async closeDebugWindows(): Promise<void> {
    await this.database.query(STOP_DEBUG);
    await this.database.query(KEEP_OPEN);
    await this.database.query(CLOSE_DEBUG);
  }

  private async closeBeyond(): Promise<void> {
    await this.database.query(CLOSE_BEYOND, [HOSTED_POOL, this.settings.maxIdleSessions]);
  }
}
