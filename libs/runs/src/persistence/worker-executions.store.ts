import { Injectable } from '@nestjs/common';
import { Settings } from '#libs/config';
import { Database, type Queryable, type Statement } from '#libs/persistence';
import type { Desired } from '#libs/runner-protocol';
import { STOP_FENCE_MS, workerGraceMs } from '../domain/lease.js';
import { workerPool } from '../domain/run.js';
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
}

/**
 * The holder is gone, or is the same process on an older connection: free. Silent since before the asking connection came,
 * it may be dead and not yet known to be: unsure.
 */
const HOLD: Statement = {
  name: 'worker-executions.hold',
  text: `SELECT CASE
      WHEN e.worker_connection_id = $2 THEN 'own'
      WHEN h.id IS NULL OR h.alive_until <= headrace.now() THEN 'free'
      WHEN h.worker_instance = me.worker_instance THEN 'free'
      WHEN me.id IS NULL OR h.last_seen_at < me.connected_at THEN 'unsure'
      ELSE 'other' END AS hold
   FROM executions e LEFT JOIN worker_connections h ON h.id = e.worker_connection_id
     LEFT JOIN worker_connections me ON me.id = $2
  WHERE e.id = $1`,
};
/** Earlier executions of the run, as far as what the worker says now may be about them. */
const EARLIER: Statement = {
  name: 'worker-executions.earlier',
  text: `SELECT coalesce(bool_or(b.offer_sent_at IS NOT NULL), false) AS was_here,
    coalesce(bool_or(b.worker_connection_id = $2 AND b.end_reason IN ('claim_expired', 'lease_expired', 'fenced')
      AND b.ended_at > headrace.now() - interval '${STOP_FENCE_MS} milliseconds'), false) AS was_stopped
   FROM executions e JOIN executions b ON b.run_id = e.run_id AND b.id < e.id AND b.pool = e.pool WHERE e.id = $1`,
};
const LATER_END = (grace: string): string =>
  `CASE WHEN phase = 'offered' THEN lease_expires_at
     ELSE greatest(lease_expires_at, headrace.now() + ${grace} * interval '1 millisecond') END`;
const TAKE_OVER: Statement = {
  name: 'worker-executions.take-over',
  text: `UPDATE executions SET worker_connection_id = $2, worker_adopted_at = NULL, lease_expires_at = ${LATER_END('$3::int')}
   WHERE id IN (SELECT id FROM executions WHERE id = ANY($1::bigint[]) AND ended_at IS NULL
     AND (worker_connection_id <> $2 OR phase <> 'offered') ORDER BY id FOR UPDATE)`,
};
/** A daemon that crashed and came back looks like one that only lost its socket: what it held must end some time. */
const LONGEST_ADOPTION = `interval '6 hours'`;

/** What somebody else holds a lock of is renewed or ended by whoever does, or at the next sign of life. */
const ALIVE: Statement = {
  name: 'worker-executions.alive',
  text: `UPDATE executions SET lease_expires_at = ${LATER_END('$2::int')}
   WHERE id IN (SELECT id FROM executions WHERE worker_connection_id = ANY($1::uuid[]) AND ended_at IS NULL
     AND phase <> 'offered' AND (worker_adopted_at IS NULL OR worker_adopted_at > headrace.now() - ${LONGEST_ADOPTION})
     FOR UPDATE SKIP LOCKED)`,
};
/**
 * Nobody but the worker could say anything of these: no runner has called. `$3`: only where the connection was made after
 * the holder's last sign of life.
 */
const ADOPT: Statement = {
  name: 'worker-executions.adopt',
  text: `WITH orphans AS (
    SELECT e.id, me.id AS connection_id FROM worker_connections me
      JOIN executions e ON e.pool = '${workerPool('')}' || me.worker_host AND e.slot_key = 'team:' || me.team_uid
     WHERE me.id = ANY($1::uuid[]) AND e.worker_connection_id IS NOT NULL AND e.ended_at IS NULL
       AND e.phase = 'claimed' AND starts_with(e.instance_id, '${WORKER_PREFIX}')
       AND (NOT $3 OR me.connected_at >= e.lease_expires_at - $2::int * interval '1 millisecond')
       AND NOT EXISTS (SELECT 1 FROM worker_connections h WHERE h.id = e.worker_connection_id AND h.alive_until > headrace.now())
     FOR UPDATE OF e SKIP LOCKED)
  UPDATE executions SET worker_connection_id = o.connection_id, worker_adopted_at = coalesce(worker_adopted_at, headrace.now()),
    lease_expires_at = ${LATER_END('$2::int')} FROM orphans o WHERE executions.id = o.id`,
};
const KNOWN: Statement = {
  name: 'worker-executions.known',
  text: `SELECT id, run_id, ended_at IS NULL AND coalesce(fence_at > headrace.now(), true) AS is_live, phase = 'offered' AS is_offered,
    desired, pool = $2 AND slot_key = $3 AS is_ours FROM executions WHERE id = ANY($1::bigint[])`,
};
/** A rejection is no failed offer. */
const FORGET_OFFER: Statement = {
  name: 'worker-executions.forget-offer',
  text: `UPDATE runs SET offers = greatest(0, offers - 1) WHERE id = $1`,
};

/** Of a run's earlier executions: one was sent to this host; this connection was told to stop one, a short while ago. */
export interface EarlierTasks {
  readonly was_here: boolean;
  readonly was_stopped: boolean;
}

/** What connections of workers hold. The lock order is the one of `RunMoves`. */
@Injectable()
export class WorkerExecutionsStore {
  constructor(
    private readonly database: Database,
    private readonly settings: Settings,
  ) {}

  /** The caller holds the execution's lock. */
  async hold(tx: Queryable, executionId: string, connectionId: string): Promise<Hold> {
    const [row] = await tx.query<{ hold: Hold }>(HOLD, [executionId, connectionId]);
    return row?.hold ?? 'other';
  }

  async earlier(tx: Queryable, executionId: string, connectionId: string): Promise<EarlierTasks> {
    const [row] = await tx.query<EarlierTasks & Record<string, unknown>>(EARLIER, [executionId, connectionId]);
    return row ?? { was_here: false, was_stopped: false };
  }

  /** From now on these live executions are held by this connection, which has just given a sign of life. */
  async takeOver(queryable: Queryable, executionIds: readonly string[], connectionId: string): Promise<void> {
    await queryable.query(TAKE_OVER, [executionIds, connectionId, this.grace()]);
  }

  /** The leases of what these connections have claimed live on. One round trip for all of them. */
  async renew(connectionIds: readonly string[]): Promise<void> {
    await this.database.query(ALIVE, [connectionIds, this.grace()]);
  }

  /** These connections have just come, and cannot tell what they run: they hold what connections before them have left. */
  async adopt(connectionIds: readonly string[]): Promise<void> {
    await this.database.query(ADOPT, [connectionIds, this.grace(), false]);
  }

  /**
   * The same for connections that came a while ago, where the holder was silent by then and is known to be gone only now. A
   * holder that has been heard of since was another worker.
   */
  async adoptFromSilent(connectionIds: readonly string[]): Promise<void> {
    await this.database.query(ADOPT, [connectionIds, this.grace(), true]);
  }

  /** Milliseconds after which a connection that was silent when another one came is known to be gone, and a little more. */
  get silenceKnownAfter(): number {
    return this.settings.workerSilence + this.grace() - this.settings.leaseTtl;
  }

  /** What is known of these executions, by id. */
  async known(
    executionIds: readonly string[],
    place: { pool: string; slotKey: string },
  ): Promise<Map<string, KnownTask>> {
    const rows = await this.database.query<KnownTask & Record<string, unknown>>(KNOWN, [
      executionIds,
      place.pool,
      place.slotKey,
    ]);
    return new Map(rows.map((row) => [row.id, row]));
  }

  async forgetOffer(tx: Queryable, runId: string): Promise<void> {
    await tx.query(FORGET_OFFER, [runId]);
  }

  private grace(): number {
    return workerGraceMs(this.settings.leaseTtl);
  }
}
