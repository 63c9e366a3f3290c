import { type DebugWindow, EXTERNAL_POOL, HOSTED_POOL, workerPool } from '../domain/run.js';

/** That execution `e` (an alias) has a debug agent that works, or a message that waits for it. */
export const debugActive = (e: string): string =>
  `(${e}.busy_since IS NOT NULL OR EXISTS (SELECT 1 FROM run_followups df
     WHERE df.run_id = ${e}.run_id AND df.debug_execution_id = ${e}.id AND df.consumed_at IS NULL))`;

/** That the debug window of execution `e` is open. False, never null; costs nothing in other phases. */
export const debugOpen = (e: string): string =>
  `CASE WHEN ${e}.phase = 'debug' AND ${e}.desired = 'run' THEN ${e}.debug_until > headrace.now() OR ${debugActive(e)} ELSE false END`;

/** Columns of {@link DebugWindowRow}; `e` is the run's live execution (left join). */
export const DEBUG_WINDOW_COLUMNS = `CASE WHEN ${debugOpen('e')} THEN e.debug_until END AS debug_until,
  CASE WHEN e.phase = 'debug' THEN ${debugActive('e')} ELSE false END AS debug_active`;

export interface DebugWindowRow {
  /** Null unless the window is open. */
  debug_until: Date | null;
  debug_active: boolean;
}

export function toDebugWindow({ debug_until: until, debug_active: isAgentActive }: DebugWindowRow): DebugWindow | null {
  return until === null ? null : { until, isAgentActive };
}

const WORKERS = `FROM worker_connections w WHERE w.team_uid = r.team_uid AND w.worker_host = substr(r.pool, ${workerPool('').length + 1})
  AND w.alive_until > headrace.now()`;
/** A worker that is draining, or has as many executions as slots that it reports or was learnt to have, accepts none. */
const USABLE = `FROM usable_workers(r.team_uid, substr(r.pool, ${workerPool('').length + 1})) u
  WHERE u.free_slots IS DISTINCT FROM 0 AND (least(u.slots, u.known_slots) IS NULL OR least(u.slots, u.known_slots) > (
    SELECT count(*) FROM executions b WHERE b.worker_connection_id = u.connection_id AND b.ended_at IS NULL))`;

/**
 * The user who executes `e`, an execution of run `r`, on a machine of theirs; null: nobody, or a service account. Processes of
 * version 0.2.0 do not store the user, who is the creator of the run then.
 */
export const EXTERNAL_USER = `nullif(coalesce(e.user_uid,
    CASE WHEN e.pool = '${EXTERNAL_POOL}' AND r.creator_type = 'user' THEN r.creator_uid END), '')`;

/**
 * The service account that executes `e`, an execution of run `r`, on another machine; null: nobody, or a user. Processes of version
 * 0.2.0 do not store it: it is the creator of the run then.
 */
export const EXTERNAL_ACCOUNT = `nullif(coalesce(e.account_uid, CASE WHEN e.pool = '${EXTERNAL_POOL}' AND r.creator_type = 'service_account'
    AND coalesce(e.user_uid, '') = '' THEN r.creator_uid END), '')`;

/**
 * A {@link WaitingReason} of run `r` with its live execution `e`, as JSON; null when it is not queued, or only waits for the
 * next placement. Derived when the run is read, a few index probes; nothing is written for it.
 */
export const WAITING_REASON = `CASE WHEN r.state <> 'QUEUED' THEN NULL
  WHEN EXISTS (SELECT FROM installation_hold) THEN json_build_object('kind', 'installation_held')
  WHEN r.is_held THEN (
    SELECT CASE WHEN q.start_at > headrace.now() THEN json_build_object('kind', 'delayed', 'start_at', q.start_at)
                ELSE json_build_object('kind', 'earlier_run', 'run_id', (
                  SELECT b.run_id FROM concurrency_queue b
                   WHERE b.slot_key = q.slot_key AND b.key = q.key AND b.position < q.position ORDER BY b.position LIMIT 1)) END
      FROM concurrency_queue q WHERE q.run_id = r.id)
  WHEN e.id IS NOT NULL THEN json_build_object('kind', 'previous_execution_stopping')
  WHEN r.pool = '${HOSTED_POOL}' THEN (
    SELECT CASE WHEN o.used >= l.owner_limit THEN json_build_object('kind', 'owner_limit', 'limit', l.owner_limit)
                WHEN p.used >= p.capacity THEN json_build_object('kind', 'pool_full', 'limit', p.capacity) END
      FROM slot_pools p LEFT JOIN slot_pools o ON o.key = r.slot_key
        CROSS JOIN LATERAL (SELECT owner_capacity(r.slot_key, o.capacity) AS owner_limit) l
     WHERE p.key = 'pool:' || r.pool)
  WHEN NOT starts_with(r.pool, '${workerPool('')}') THEN NULL
  WHEN r.team_uid IS NULL THEN json_build_object('kind', 'no_worker_for_personal_run')
  WHEN NOT EXISTS (SELECT 1 ${WORKERS}) THEN json_build_object('kind', 'no_worker_connected', 'worker_host', substr(r.pool, ${workerPool('').length + 1}))
  WHEN NOT EXISTS (SELECT 1 ${USABLE}) THEN json_build_object('kind', 'workers_busy', 'worker_host', substr(r.pool, ${workerPool('').length + 1}))
  END AS waiting_reason`;

/** The files of a run that fulfil a condition on `a`, each as AttachmentRef, in the order in which they were sent; null: none. */
export const attachmentRefs = (condition: string): string => `(SELECT json_agg(json_build_object('attachment_id', a.id,
    'file_name', a.file_name, 'mime_type', a.mime_type, 'size_bytes', a.size_bytes) ORDER BY a.position)
  FROM run_attachments a WHERE ${condition})`;
