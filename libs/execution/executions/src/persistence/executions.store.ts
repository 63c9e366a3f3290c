import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { Database, type Queryable, statement, type Transaction, WRITE_TIME } from '#platform/persistence';
import type { Desired } from '#execution/runner-protocol';
import { RunMetrics } from '../adapters/run-metrics.js';
import { type ExecutionPhase, phaseAfter, phaseGuard } from '../domain/execution-phase.js';
import { EXTERNAL_POOL, type PrincipalRef } from '../domain/run.js';
import { COMMANDS_CHANNEL, leaseGraceMs, workerGraceMs } from '../domain/lease.js';
import { maxRuntimeMs } from './run-limits.store.js';
import { debugOpen } from './run-status-sql.js';

export interface Execution {
  readonly id: string;
  readonly run_id: string;
  readonly pool: string;
  readonly phase: ExecutionPhase;
  readonly lease_epoch: number;
  readonly instance_id: string | null;
  /** Of the self-hosted worker that holds it; null elsewhere. */
  readonly worker_connection_id: string | null;
  readonly slot_held: boolean;
  /** Its agent works on a turn. */
  readonly is_busy: boolean;
  readonly desired: Desired;
  readonly desired_reason: string | null;
  readonly command_version: string;
  readonly acked_seq: string;
  /** Of its events so far. */
  readonly output_bytes: string;
  /** Milliseconds that it may stay open after a turn; 0: it is closed at the end of the turn. */
  readonly idle_timeout_ms: number;
  readonly is_expired: boolean;
  readonly is_fenced: boolean;
  /** Its debug window is open: a message now reaches it. */
  readonly is_debug_open: boolean;
  /** The turn that was interrupted last; null: none of this execution. */
  readonly interrupt_turn_id: string | null;
  readonly interrupt_by: PrincipalRef | null;
  /** The interrupted turn has not ended, as far as the runner has reported. */
  readonly is_interrupt_open: boolean;
  readonly is_interrupt_overdue: boolean;
  /** Held by a connection that cannot tell whether its worker executes it. */
  readonly is_adopted: boolean;
}

/** Prefix of the instance id of a worker that has claimed an execution whose runner has not claimed it yet. */
export const WORKER_PREFIX = 'worker:';
export const workerInstance = (connectionId: string): string => `${WORKER_PREFIX}${connectionId}`;

/** A self-hosted worker has claimed it, and its runner has not called the API yet. */
export function isHeldForRunner({ phase, instance_id: instance }: Execution): boolean {
  return phase === 'claimed' && instance?.startsWith(WORKER_PREFIX) === true;
}

const COLUMNS = `id, run_id, pool, phase, lease_epoch, instance_id, worker_connection_id, slot_held, busy_since IS NOT NULL AS is_busy, desired, desired_reason, command_version, acked_seq, output_bytes, idle_timeout_ms,
  lease_expires_at <= headrace.now() AS is_expired, coalesce(fence_at <= headrace.now(), false) AS is_fenced,
  ${debugOpen('executions')} AS is_debug_open, interrupt_turn_id, interrupt_by,
  interrupt_expires_at IS NOT NULL AS is_interrupt_open, coalesce(interrupt_expires_at <= headrace.now(), false) AS is_interrupt_overdue,
  worker_adopted_at IS NOT NULL AND coalesce(starts_with(instance_id, '${WORKER_PREFIX}'), false) AS is_adopted`;

const LOCK = statement('executions.lock')`
  SELECT ${COLUMNS} FROM executions WHERE id = $1 AND ended_at IS NULL FOR UPDATE`;
const LOCK_LIVE = statement('executions.lock-live')`
  SELECT ${COLUMNS} FROM executions WHERE run_id = $1 AND ended_at IS NULL FOR UPDATE`;

/** That the execution with this id, as `e`, is held with this lease epoch. */
export const leased = (id: string, epoch: string): string => `e.id = ${id} AND e.lease_epoch = ${epoch}
  AND e.phase <> 'offered' AND e.ended_at IS NULL AND (e.fence_at IS NULL OR e.fence_at > headrace.now())`;
export const LEASED = leased('$1', '$2');

/** When a lease that is renewed now ends. Parameters: milliseconds, and those of executions on self-hosted workers. */
export const leaseEnd = (hosted: string, worker: string): string =>
  `${WRITE_TIME} + CASE WHEN worker_connection_id IS NULL THEN ${hosted}::int ELSE ${worker}::int END * interval '1 millisecond'`;
const LEASE_END = leaseEnd('$3', '$4');

/** Null: there are commands for its runner. */
const QUIET_VERSION = `CASE WHEN desired = 'run' AND NOT EXISTS (SELECT 1 FROM run_followups f
    WHERE f.run_id = executions.run_id AND f.consumed_at IS NULL) THEN command_version::float8 END`;
const LEASE = `lease_epoch AS "leaseEpoch", ${QUIET_VERSION} AS "commandVersion"`;
const CLAIM = statement('executions.claim')`
  UPDATE executions SET phase = ${phaseAfter('claim')}, lease_epoch = lease_epoch + 1, instance_id = $2, claimed_at = headrace.now(),
    lease_expires_at = ${LEASE_END} WHERE id = $1 AND ${phaseGuard('claim')}
  RETURNING ${LEASE}`;
const LEASE_OF = statement('executions.lease-of')`SELECT ${LEASE} FROM executions WHERE id = $1`;

const RENEW = statement('executions.renew')`UPDATE executions e SET lease_expires_at = ${LEASE_END}
   WHERE ${LEASED}
   RETURNING desired, run_id AS "runId", slot_key AS "ownerKey"`;

const FIND_OWNER = statement('executions.find_owner')`
  SELECT CASE WHEN ended_at IS NULL THEN slot_key ELSE 'ended:' || slot_key END AS key FROM executions WHERE id = $1`;

const ACKNOWLEDGE = statement('executions.acknowledge')`
  UPDATE executions SET acked_seq = $2, output_bytes = output_bytes + $5, lease_expires_at = ${LEASE_END} WHERE id = $1`;

/** `ceiling_at`: when the run may have worked for as long as its limit allows; null without one. `$2`: see {@link maxRuntimeMs}. */
const BUSY = statement('executions.busy')`
  UPDATE executions SET phase = ${phaseAfter('work')}, started_at = coalesce(started_at, headrace.now()),
    busy_since = coalesce(busy_since, headrace.now()), idle_since = NULL,
    ceiling_at = CASE WHEN busy_since IS NOT NULL THEN ceiling_at ELSE (
      SELECT headrace.now() + greatest(0, ${maxRuntimeMs('$2')} - r.busy_ms) * interval '1 millisecond'
        FROM runs r WHERE r.id = executions.run_id AND ${maxRuntimeMs('$2')} IS NOT NULL) END
   WHERE id = $1 AND ${phaseGuard('work')}`;

const ALLOW_DEBUG = statement('executions.allow-debug')`
  UPDATE executions SET debug_window_ms = $2 WHERE id = $1 AND ended_at IS NULL`;

/** The turn has ended during a wait for runs, which the status of the run names, and another turn begins. */
const CONTINUES = `(before.was_waiting AND NOT $2 AND runs.state = 'INPROGRESS')`;
/**
 * Adds the turn's time to the run. `$2`: the session rests. Otherwise another turn begins: an interrupted wait for runs has left the
 * execution without a slot, and it gets the next one.
 */
const PAUSE = statement('executions.pause')`
  WITH before AS (SELECT id, run_id, pool, busy_since, awaits_runs_since IS NOT NULL AS was_waiting FROM executions WHERE id = $1),
  paused AS (UPDATE executions SET busy_since = NULL, ceiling_at = NULL, awaits_runs_since = NULL,
      slot_wanted_at = CASE WHEN $2 THEN NULL WHEN awaits_runs_since IS NOT NULL AND NOT slot_held THEN coalesce(slot_wanted_at, headrace.now()) ELSE slot_wanted_at END,
      phase = CASE WHEN $2 AND ${phaseGuard('rest')} THEN ${phaseAfter('rest')} ELSE phase END, idle_since = CASE WHEN $2 THEN headrace.now() ELSE idle_since END WHERE id = $1)
  UPDATE runs SET busy_ms = busy_ms + greatest(0, extract(epoch FROM headrace.now() - before.busy_since) * 1000)::bigint,
      status_message = CASE WHEN ${CONTINUES} THEN NULL ELSE status_message END,
      updated_at = CASE WHEN ${CONTINUES} THEN headrace.now() ELSE updated_at END
    FROM before WHERE runs.id = before.run_id AND (before.busy_since IS NOT NULL OR ${CONTINUES})
  RETURNING before.pool, extract(epoch FROM headrace.now() - before.busy_since)::float8 AS seconds`;

const END = statement('executions.end')`
  UPDATE executions SET phase = ${phaseAfter('end')}, ended_at = headrace.now(), end_reason = $2, exit_code = $3, awaits_runs_since = NULL, slot_wanted_at = NULL WHERE id = $1 AND ended_at IS NULL AND ${phaseGuard('end')} RETURNING id`;

const RELEASE = statement('executions.release-slot')`SELECT release_slot($1) AS released`;
const ACQUIRE = statement('executions.acquire-slot')`SELECT acquire_slot($1, $2) AS acquired`;

/** `$3`: milliseconds until the server fences whatever the runner says, or null; a fence once set never moves back. */
const COMMANDED = `UPDATE executions SET command_version = command_version + 1, desired = coalesce($2, desired), desired_reason = coalesce($4, desired_reason),
      fence_at = least(fence_at, headrace.now() + $3::int * interval '1 millisecond')
    WHERE id = $1 AND ended_at IS NULL`;
const COMMAND = statement('executions.command')`
  WITH c AS (${COMMANDED} RETURNING id) SELECT pg_notify('${COMMANDS_CHANNEL}', id::text) FROM c`;
const COMMAND_SILENTLY = statement('executions.command-silently')`${COMMANDED}`;

const OPEN_DEBUG = statement('debug-sessions.open')`
  UPDATE executions SET phase = ${phaseAfter('open_debug_window')}, idle_since = headrace.now(),
    debug_until = headrace.now() + coalesce(debug_window_ms, 0) * interval '1 millisecond'
  WHERE id = $1 AND ${phaseGuard('open_debug_window')}`;
const EXTEND_DEBUG = statement('debug-sessions.extend')`
  UPDATE executions SET debug_until = greatest(debug_until, headrace.now() + coalesce(debug_window_ms, 0) * interval '1 millisecond')
   WHERE id = $1 AND phase = 'debug'`;
const DEBUG_BUSY = statement('debug-sessions.busy')`
  UPDATE executions SET busy_since = coalesce(busy_since, headrace.now()), idle_since = NULL WHERE id = $1 AND phase = 'debug'`;
const DEBUG_REST = statement('debug-sessions.rest')`
  UPDATE executions SET idle_since = headrace.now() WHERE id = $1 AND phase = 'debug'`;

/** The caller's runner claims it within CLAIM_DEADLINE, and nobody else. `$2`: milliseconds. */
const OFFER_EXTERNAL = statement('executions.offer-external')`
  INSERT INTO executions (run_id, slot_key, pool, phase, placed_by, slot_held, idle_timeout_ms, offered_at, lease_expires_at, user_uid, account_uid)
  SELECT id, slot_key, pool, 'offered', '${EXTERNAL_POOL}', false,
    (coalesce((config->>'idle_timeout_minutes')::numeric, 10) * 60000)::int, headrace.now(), headrace.now() + $2 * interval '1 millisecond', $3, $4
  FROM runs WHERE id = $1 RETURNING id`;

export type ClaimedLease = {
  readonly leaseEpoch: number;
  /** Null: there are commands for its runner. */
  readonly commandVersion: number | null;
};

interface OwnedRun {
  readonly runId: string;
  readonly ownerKey: string;
}

@Injectable()
export class ExecutionsStore {
  constructor(
    private readonly database: Database,
    private readonly settings: Settings,
    private readonly metrics: RunMetrics,
  ) {}

  async lock(tx: Queryable, executionId: string): Promise<Execution | null> {
    const [row] = await tx.query<Execution>(LOCK, [executionId]);
    return row ?? null;
  }

  async lockLive(tx: Queryable, runId: string): Promise<Execution | null> {
    const [row] = await tx.query<Execution>(LOCK_LIVE, [runId]);
    return row ?? null;
  }

  /** Of an external run. Resolves with the id. */
  async offerExternal(tx: Queryable, runId: string, caller: PrincipalRef): Promise<string> {
    const of = (type: PrincipalRef['type']): string => (caller.type === type ? caller.uid : '');
    const values = [runId, this.settings.claimDeadline, of('user'), of('service_account')];
    const [row] = await tx.query<{ id: string }>(OFFER_EXTERNAL, values);
    if (!row) throw new Error(`Run ${runId} vanished while it was locked.`);
    return row.id;
  }

  async claim(tx: Queryable, executionId: string, instanceId: string): Promise<ClaimedLease> {
    const [row] = await tx.query<ClaimedLease>(CLAIM, [executionId, instanceId, ...this.graces()]);
    return row ?? vanished(executionId);
  }

  /** For a claim that is repeated. */
  async leaseOf(tx: Queryable, executionId: string): Promise<ClaimedLease> {
    const [row] = await tx.query<ClaimedLease>(LEASE_OF, [executionId]);
    return row ?? vanished(executionId);
  }

  /** One round trip; null when the lease is gone. */
  async renew(executionId: string, leaseEpoch: number): Promise<Desired | null> {
    const [row] = await this.database.query<{ desired: Desired }>(RENEW, [executionId, leaseEpoch, ...this.graces()]);
    return row?.desired ?? null;
  }

  /** As {@link renew}, for what belongs to the run: its id. */
  async renewOfRun(executionId: string, leaseEpoch: number): Promise<string | null> {
    return (await this.renewOwned(executionId, leaseEpoch))?.runId ?? null;
  }

  /** As {@link renewOfRun}, with the key of the team or person whose run it is. */
  async renewOwned(executionId: string, leaseEpoch: number): Promise<OwnedRun | null> {
    const [row] = await this.database.query<OwnedRun>(RENEW, [executionId, leaseEpoch, ...this.graces()]);
    return row ?? null;
  }

  /**
   * Of the team or person whose run it is, and another one for executions that have ended: their tokens remain, and must not
   * delay those at work. Null when there is no such execution.
   */
  async findOwnerKey(executionId: string): Promise<string | null> {
    const [row] = await this.database.query<{ key: string }>(FIND_OWNER, [executionId]);
    return row?.key ?? null;
  }

  /** The execution may stay for so long after a set-up that failed; noted before its runner begins. */
  async allowDebug(executionId: string, windowMs: number): Promise<void> {
    await this.database.query(ALLOW_DEBUG, [executionId, windowMs]);
  }

  async acknowledge(tx: Queryable, executionId: string, ackedSeq: number, outputBytes: number): Promise<void> {
    await tx.query(ACKNOWLEDGE, [executionId, ackedSeq, ...this.graces(), outputBytes]);
  }

  async markBusy(tx: Queryable, executionId: string): Promise<void> {
    await tx.query(BUSY, [executionId, this.settings.defaultMaxRuntime]);
  }

  async openDebugWindow(tx: Queryable, executionId: string): Promise<void> {
    await tx.query(OPEN_DEBUG, [executionId]);
  }

  /** The debug window ends its whole length from now; never earlier than it would have. */
  async extendDebugWindow(tx: Queryable, executionId: string): Promise<void> {
    await tx.query(EXTEND_DEBUG, [executionId]);
  }

  async markDebugBusy(tx: Queryable, executionId: string): Promise<void> {
    await tx.query(DEBUG_BUSY, [executionId]);
  }

  /** After a turn of a debug agent that was counted by {@link pause}. */
  async restDebug(tx: Queryable, executionId: string): Promise<void> {
    await tx.query(DEBUG_REST, [executionId]);
  }

  async pause(tx: Transaction, executionId: string, idle: boolean): Promise<void> {
    const [paused] = await tx.query<{ pool: string; seconds: number | null }>(PAUSE, [executionId, idle]);
    if (paused) tx.afterCommit(() => this.metrics.phaseEnded('turn', paused.pool, paused.seconds));
  }

  async releaseSlot(tx: Queryable, executionId: string): Promise<boolean> {
    const [row] = await tx.query<{ released: boolean }>(RELEASE, [executionId]);
    return row?.released ?? false;
  }

  async acquireSlot(executionId: string, queryable: Queryable = this.database): Promise<boolean> {
    const [row] = await queryable.query<{ acquired: boolean }>(ACQUIRE, [
      executionId,
      this.settings.maxConcurrentRunsPerTeam,
    ]);
    return row?.acquired ?? false;
  }

  /** `execution`: as it was locked. */
  async end(tx: Transaction, execution: Execution, reason: string, exitCode: number | null): Promise<void> {
    await Promise.all([
      execution.is_busy ? this.pause(tx, execution.id, false) : null,
      execution.slot_held ? this.releaseSlot(tx, execution.id) : null,
      tx.query(END, [execution.id, reason, exitCode]),
    ]);
  }

  /**
   * Wakes the runner up, and changes the desired state where one is given. `isAnswered`: the runner waits for an answer that
   * contains the desired state.
   */
  async command(
    tx: Queryable,
    executionId: string,
    wish: { desired?: Desired; reason?: string; fenceAfterMs?: number; isAnswered?: boolean } = {},
  ): Promise<void> {
    await tx.query(wish.isAnswered === true ? COMMAND_SILENTLY : COMMAND, [
      executionId,
      wish.desired ?? null,
      wish.fenceAfterMs ?? null,
      wish.reason ?? null,
    ]);
  }

  private graces(): [hosted: number, worker: number] {
    const { leaseTtl } = this.settings;
    return [leaseGraceMs(leaseTtl), workerGraceMs(leaseTtl)];
  }
}

function vanished(executionId: string): never {
  throw new Error(`Execution ${executionId} vanished while it was locked.`);
}
