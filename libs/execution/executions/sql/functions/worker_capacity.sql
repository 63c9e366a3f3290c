-- The usable connections of a worker pool. live: executions that a connection was given. capacity: how many it may be given,
-- null when nothing is known. A worker that reports no slots gets few offers at a time, because it answers each one that it has
-- no slot for with a rejection; after a rejection it gets as many executions as it had then, and one more as a test when the
-- pause is over.
CREATE OR REPLACE FUNCTION headrace.worker_capacity(p_pool text, p_slot_key text)
RETURNS TABLE (connection_id uuid, live int, capacity int, says_full boolean, is_known boolean) LANGUAGE sql STABLE AS $$
  SELECT w.connection_id, l.live,
         least(w.slots, CASE
           WHEN w.known_slots IS NULL THEN CASE WHEN w.slots IS NULL THEN l.answered + 4 END
           WHEN w.is_paused THEN w.known_slots
           ELSE greatest(w.known_slots, l.answered + 1) END),
         coalesce(w.free_slots = 0, false), w.slots IS NOT NULL OR w.known_slots IS NOT NULL
    -- The keys begin with `team:` and `worker:`.
    FROM headrace.usable_workers(substr(p_slot_key, 6), substr(p_pool, 8)) w
    CROSS JOIN LATERAL (SELECT count(*)::int AS live, (count(*) FILTER (WHERE e.phase <> 'offered'))::int AS answered
                          FROM headrace.executions e
                         WHERE e.worker_connection_id = w.connection_id AND e.ended_at IS NULL) l
$$;
