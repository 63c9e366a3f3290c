import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { Database, type Queryable, statement, WRITE_TIME } from '#platform/persistence';
import type { Desired } from '#execution/runner-protocol';
import { STOP_FENCE_MS, workerGraceMs } from '../domain/lease.js';
import { workerPool, type WorkerPoolKeys } from '../domain/run.js';
import { WORKER_PREFIX } from './executions.store.js';

/** A connection may speak for an execution: it is its own; nobody else can; maybe; somebody else can. */
export type Hold = 'own' | 'free' | 'unsure' | 'other';

export interface KnownTask {
  readonly id: string;
  readonly run_id: string;
  readonly is_live: boolean;
  readonly is_offered: boolean;
  readonly desired: Desired;
  /** Of this worker's host and team. */
  readonly is_ours: boolean;
  readonly hold: Hold;
}

/**
 * The holder is gone, or is an older connection of the same process and service account: free. Silent since before the
 * asking connection was made, the holder may be dead and not yet known to be: unsure.
 */
const holdOf = (connection: string): string => `CASE
      WHEN e.worker_connection_id = ${connection} THEN 'own'
      WHEN h.id IS NULL OR h.alive_until <= headrace.now() THEN 'free'
      WHEN h.worker_instance = me.worker_instance AND h.account_uid = me.account_uid THEN 'free'
      WHEN me.id IS NULL OR h.last_seen_at < me.connected_at THEN 'unsure'
      ELSE 'other' END AS hold`;
const holders = (
  connection: string,
): string => `executions e LEFT JOIN worker_connections h ON h.id = e.worker_connection_id
     LEFT JOIN worker_connections me ON me.id = ${connection}`;

/** `$3`: milliseconds since the message arrived, which is when it counts. */
const HOLD = statement('worker-executions.hold')`
  SELECT ${holdOf('$2')}, e.lease_expires_at <= headrace.now() - $3::float8 * interval '1 millisecond' AS was_late
   FROM ${holders('$2')} WHERE e.id = $1`;
const GIVEN_UP = `('claim_expired', 'lease_expired', 'fenced')`;
/** A worker that reconnects within this time is commanded to stop what was given up. */
const LATELY = `interval '24 hours'`;
/**
 * Earlier executions of the run, as far as what the worker says now may be about them. The connection was commanded to stop those
 * that were given up while it was there, or before it was made.
 */
const EARLIER = statement('worker-executions.earlier')`
  SELECT coalesce(bool_or(b.offer_sent_at IS NOT NULL), false) AS was_here,
    coalesce(bool_or(b.end_reason IN ${GIVEN_UP}
      AND CASE WHEN b.worker_connection_id = $2 THEN b.ended_at WHEN b.ended_at <= me.connected_at THEN me.connected_at END
        > headrace.now() - interval '${STOP_FENCE_MS} milliseconds'), false) AS was_stopped
   FROM executions e JOIN executions b ON b.run_id = e.run_id AND b.id < e.id AND b.pool = e.pool
     LEFT JOIN worker_connections me ON me.id = $2 WHERE e.id = $1`;
/**
 * Runs that were given up while a worker of this host was away, which may still execute them. Not those that a worker of the
 * host executes now: that may be the same one, on a connection whose end is not known yet.
 */
const TO_STOP_ON_ARRIVAL = statement('worker-executions.to-stop-on-arrival')`
  SELECT e.run_id AS "runId", max(e.id) AS "executionId" FROM executions e
   WHERE e.pool = $1 AND e.slot_key = $2 AND e.offer_sent_at IS NOT NULL AND e.end_reason IN ${GIVEN_UP}
     AND e.ended_at > headrace.now() - ${LATELY}
     AND NOT EXISTS (SELECT 1 FROM executions l WHERE l.run_id = e.run_id AND l.ended_at IS NULL AND l.phase <> 'offered')
   GROUP BY e.run_id ORDER BY 2 DESC LIMIT 100`;
const EXECUTING = statement('worker-executions.executing')`
  SELECT count(*)::int AS count FROM executions WHERE worker_connection_id = $1 AND ended_at IS NULL AND phase <> 'offered'`;
const OFFERED = statement('worker-executions.offered')`
  SELECT run_id FROM executions WHERE worker_connection_id = $1 AND ended_at IS NULL AND phase = 'offered'`;
/** A locked offer is about to be ended or claimed. */
const KEEP_OFFERS = statement('worker-executions.keep-offers')`
  UPDATE executions SET lease_expires_at = headrace.now() + $2::int * interval '1 millisecond'
   WHERE id IN (SELECT id FROM executions WHERE worker_connection_id = ANY($1::uuid[]) AND ended_at IS NULL
     AND phase = 'offered' AND offer_sent_at IS NOT NULL FOR UPDATE SKIP LOCKED)`;
const LEFT = statement('worker-executions.left')`UPDATE executions SET worker_left_at = headrace.now()
   WHERE id IN (SELECT id FROM executions WHERE worker_connection_id = $1 AND ended_at IS NULL ORDER BY id FOR UPDATE)`;
const LATER_END = (grace: string): string =>
  `CASE WHEN phase = 'offered' THEN lease_expires_at
     ELSE greatest(lease_expires_at, ${WRITE_TIME} + ${grace} * interval '1 millisecond') END`;
const TAKE_OVER = statement('worker-executions.take-over')`
  UPDATE executions SET worker_connection_id = $2, worker_adopted_at = NULL, worker_left_at = NULL,
    lease_expires_at = ${LATER_END('$3::int')}
   WHERE id IN (SELECT id FROM executions WHERE id = ANY($1::bigint[]) AND ended_at IS NULL
     AND (worker_connection_id <> $2 OR phase <> 'offered') ORDER BY id FOR UPDATE)`;
/** `$n` milliseconds: a daemon that was started again, and knows nothing of its runs, looks like one that only lost its connection. */
const stillAdopted = (milliseconds: string): string =>
  `(worker_adopted_at IS NULL OR worker_adopted_at > headrace.now() - ${milliseconds} * interval '1 millisecond')`;

/** A locked row is renewed or ended by the holder of the lock, or renewed at the next heartbeat. */
const ALIVE = statement('worker-executions.alive')`UPDATE executions SET lease_expires_at = ${LATER_END('$2::int')}
   WHERE id IN (SELECT id FROM executions WHERE worker_connection_id = ANY($1::uuid[]) AND ended_at IS NULL
     AND phase <> 'offered' AND ${stillAdopted('$3::int')}
     FOR UPDATE SKIP LOCKED)`;
/**
 * Nobody but the worker could say anything of these: no runner has called. `$3`: only where the connection was made after
 * the holder's last sign of life. `$5`: the status message of their runs. Locked runs are left for the next look: the lock
 * order is run, then execution.
 */
const ADOPT = statement('worker-executions.adopt')`WITH orphans AS (
    SELECT e.id, e.run_id, me.id AS connection_id FROM worker_connections me
      JOIN executions e ON e.pool = '${workerPool('')}' || me.worker_host AND e.slot_key = 'team:' || me.team_uid
      JOIN runs r ON r.id = e.run_id
     WHERE me.id = ANY($1::uuid[]) AND e.worker_connection_id IS NOT NULL AND e.ended_at IS NULL
       AND e.phase = 'claimed' AND starts_with(e.instance_id, '${WORKER_PREFIX}')
       AND e.worker_left_at IS NULL AND ${stillAdopted('$4::int')}
       AND (NOT $3 OR me.connected_at >= e.lease_expires_at - $2::int * interval '1 millisecond')
       AND NOT EXISTS (SELECT 1 FROM worker_connections h WHERE h.id = e.worker_connection_id AND h.alive_until > headrace.now())
     FOR NO KEY UPDATE OF r, e SKIP LOCKED),
  messages AS (
    UPDATE runs SET status_message = $5::jsonb, updated_at = headrace.now() FROM orphans o WHERE runs.id = o.run_id AND runs.state = 'CLAIMED')
  UPDATE executions SET worker_connection_id = o.connection_id, worker_adopted_at = coalesce(worker_adopted_at, headrace.now()),
    lease_expires_at = ${LATER_END('$2::int')} FROM orphans o WHERE executions.id = o.id`;
const KNOWN = statement('worker-executions.known')`
  SELECT e.id, e.run_id, e.ended_at IS NULL AND coalesce(e.fence_at > headrace.now(), true) AS is_live,
    e.phase = 'offered' AS is_offered, e.desired, e.pool = $2 AND e.slot_key = $3 AS is_ours, ${holdOf('$4')}
   FROM ${holders('$4')} WHERE e.id = ANY($1::bigint[])`;
const MINUTE_MS = 60_000;
/** A rejection is no failed offer. */
const FORGET_OFFER = statement('worker-executions.forget-offer')`
  UPDATE runs SET offers = greatest(0, offers - 1) WHERE id = $1`;

/** What connections of workers hold. The lock order is the one of `RunTransitions`. */
@Injectable()
export class WorkerExecutionsStore {
  constructor(
    private readonly database: Database,
    private readonly settings: Settings,
  ) {}

  async hold(
    tx: Queryable,
    executionId: string,
    connectionId: string,
    waitedMs: number,
  ): Promise<{ hold: Hold; was_late: boolean }> {
    const [row] = await tx.query<{ hold: Hold; was_late: boolean }>(HOLD, [executionId, connectionId, waitedMs]);
    return row ?? { hold: 'other', was_late: true };
  }

  /** Of a run's earlier executions: one was sent to this host; this connection was commanded to stop one, a short while ago. */
  async earlier(tx: Queryable, executionId: string, connectionId: string) {
    const [row] = await tx.query<{ was_here: boolean; was_stopped: boolean }>(EARLIER, [executionId, connectionId]);
    return row ?? { was_here: false, was_stopped: false };
  }

  /** From now on these live executions are held by this connection, which has just given a sign of life. */
  async takeOver(queryable: Queryable, executionIds: readonly string[], connectionId: string): Promise<void> {
    await queryable.query(TAKE_OVER, [executionIds, connectionId, this.grace()]);
  }

  async executing(connectionId: string): Promise<number> {
    const [row] = await this.database.query<{ count: number }>(EXECUTING, [connectionId]);
    return row?.count ?? 0;
  }

  /** Runs of which a connection holds an offer that it has not answered. */
  async offered(connectionId: string): Promise<string[]> {
    const rows = await this.database.query<{ run_id: string }>(OFFERED, [connectionId]);
    return rows.map(({ run_id: runId }) => runId);
  }

  async keepOffers(connectionIds: readonly string[]): Promise<void> {
    await this.database.query(KEEP_OFFERS, [connectionIds, this.settings.claimDeadline]);
  }

  /** No other connection adopts what this one holds. */
  async leave(connectionId: string): Promise<void> {
    await this.database.query(LEFT, [connectionId]);
  }

  /** What a worker of this pool is to stop, should it still execute it; the newest first. */
  toStopOnArrival({ pool, slotKey }: WorkerPoolKeys): Promise<{ runId: string; executionId: string }[]> {
    return this.database.query(TO_STOP_ON_ARRIVAL, [pool, slotKey]);
  }

  /** The leases of what these connections have claimed live on. One round trip for all of them. */
  async renew(connectionIds: readonly string[]): Promise<void> {
    await this.database.query(ALIVE, [connectionIds, this.grace(), this.settings.workerAdoptionTimeout]);
  }

  /** Milliseconds after which a connection that was silent when another one came is known to be gone, and a little more. */
  get silenceKnownAfter(): number {
    return this.settings.workerHeartbeatTimeout + this.grace() - this.settings.leaseTtl;
  }

  async known(
    executionIds: readonly string[],
    { pool, slotKey }: WorkerPoolKeys,
    connectionId: string,
  ): Promise<Map<string, KnownTask>> {
    const rows = await this.database.query<KnownTask>(KNOWN, [executionIds, pool, slotKey, connectionId]);
    return new Map(rows.map((row) => [row.id, row]));
  }

  async forgetOffer(tx: Queryable, runId: string): Promise<void> {
    await tx.query(FORGET_OFFER, [runId]);
  }

  /**
   * These connections cannot tell what they run: they hold what connections before them have left. `isHolderSilent`: for
   * connections that came a while ago, only where the holder was silent by then and is known to be gone only now; a holder
   * that has been heard of since was another worker.
   */
  async adopt(connectionIds: readonly string[], isHolderSilent = false): Promise<void> {
    const { workerAdoptionTimeout } = this.settings;
    const message = `The worker has connected again; whether it still executes the run is not known. Without a report from it the run ends with infrastructure_timeout about ${Math.max(1, Math.round(workerAdoptionTimeout / MINUTE_MS))} min later. It can be cancelled.`;
    await this.database.query(ADOPT, [
      connectionIds,
      this.grace(),
      isHolderSilent,
      workerAdoptionTimeout,
      JSON.stringify({ message }),
    ]);
  }

  private grace(): number {
    return workerGraceMs(this.settings.leaseTtl);
  }
}
