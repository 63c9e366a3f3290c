import { Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { EventEmitter } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import type { Commands } from '#execution/runner-protocol';
import { Settings } from '#platform/config';
import { Database, DatabaseListener, statement } from '#platform/persistence';
import { COMMANDS_CHANNEL } from '../domain/lease.js';
import { ExecutionsStore } from '../persistence/executions.store.js';
import { attachmentRefs } from '../persistence/run-status-sql.js';

const SNAPSHOT = statement(
  'executions.commands',
)`SELECT e.slot_held OR e.phase = 'started' AS "mayContinue", json_strip_nulls(json_build_object(
    'version', e.command_version, 'desired', e.desired, 'desired_reason', e.desired_reason,
    'interrupt', CASE WHEN e.interrupt_expires_at > headrace.now()
      THEN json_build_object('turn_id', e.interrupt_turn_id, 'timeout_seconds', $3::float8 / 1000) END,
    'prompts', coalesce((SELECT json_agg(json_build_object('followup_id', f.id, 'message', f.message, 'mode', f.mode,
        'debug', CASE WHEN e.phase = 'debug' THEN true END,
        'attachments', ${attachmentRefs('a.run_id = f.run_id AND a.followup_id = f.id')})
      ORDER BY f.position)
      FROM run_followups f WHERE f.run_id = e.run_id AND f.consumed_at IS NULL
       AND (e.phase <> 'debug' OR f.debug_execution_id = e.id)), '[]'),
    'decisions', coalesce((SELECT json_agg(json_build_object('approval_id', a.id, 'decision',
          CASE a.state WHEN 'allowed' THEN 'allow' WHEN 'answered' THEN 'answer' ELSE 'deny' END,
        'note', a.note, 'always', CASE WHEN a.always THEN true END, 'answer', a.answer,
        'answered_by', CASE WHEN a.answer IS NOT NULL THEN json_build_object('type', a.decided_by_type, 'name',
          coalesce(a.decided_by_name, CASE a.decided_by_type WHEN 'user' THEN (SELECT u.display_name FROM users u WHERE u.uid = a.decided_by_uid)
            ELSE (SELECT s.name FROM service_accounts s WHERE s.uid = a.decided_by_uid) END)) END))
      FROM approvals a WHERE a.run_id = e.run_id AND a.execution_id = e.id AND a.state <> 'pending'), '[]'))) AS commands
  FROM executions e WHERE e.id = $1 AND e.lease_epoch = $2 AND e.ended_at IS NULL AND (e.fence_at IS NULL OR e.fence_at > headrace.now())`;

/** A lost notification costs at most this long; a session that waits for a free slot asks again this often. */
const LOOK_AGAIN_MS = 5000;
const SLOT_RETRY_MS = 500;

/** Emitted when anything may have been missed, because the connection was lost. */
const MISSED = '';

/**
 * Waits without holding a connection. An idle session gets its next prompt only with a slot; one that waits for other runs has none
 * and gets its prompts, which are for the time after its turn.
 */
@Injectable()
export class ReadCommands implements OnModuleInit, OnModuleDestroy {
  /** Events are ids of executions. */
  private readonly notifications = new EventEmitter().setMaxListeners(0);
  private unsubscribe: () => void = () => undefined;

  constructor(
    private readonly database: Database,
    private readonly executions: ExecutionsStore,
    private readonly listener: DatabaseListener,
    private readonly settings: Settings,
  ) {}

  onModuleInit(): void {
    this.unsubscribe = this.listener.subscribe(COMMANDS_CHANNEL, (id) => void this.notifications.emit(id));
  }

  onModuleDestroy(): void {
    this.unsubscribe();
    this.notifications.emit(MISSED);
  }

  async execute(
    executionId: string,
    leaseEpoch: number,
    knownVersion: number,
    waitMs: number,
    abort: AbortSignal,
  ): Promise<Commands | 'nothing' | 'lease_lost'> {
    const deadline = performance.now() + waitMs;
    for (;;) {
      const notified = new AbortController();
      const wake = (): void => notified.abort();
      // Before the database is read, so that no notification is missed.
      this.notifications.on(executionId, wake).on(MISSED, wake);
      try {
        const [row] = await this.database.query<{ commands: Commands; mayContinue: boolean }>(SNAPSHOT, [
          executionId,
          leaseEpoch,
          this.settings.interruptTimeout,
        ]);
        if (!row) return 'lease_lost';
        const { commands, mayContinue } = row;
        const isNew = commands.version > knownVersion;
        const waitsForSlot =
          isNew &&
          commands.prompts.length > 0 &&
          !mayContinue &&
          commands.desired === 'run' &&
          !(await this.executions.acquireSlot(executionId));
        if (isNew && !waitsForSlot) return commands;
        const left = deadline - performance.now();
        if (left <= 0) return 'nothing';
        const signal = AbortSignal.any([notified.signal, abort]);
        await wait(Math.min(left, waitsForSlot ? SLOT_RETRY_MS : LOOK_AGAIN_MS), undefined, { signal }).catch(
          () => undefined,
        );
        if (abort.aborted) return 'nothing';
      } finally {
        this.notifications.off(executionId, wake).off(MISSED, wake);
      }
    }
  }
}
