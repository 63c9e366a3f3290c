-- Open sessions that wait for a slot, of owners that have one free: those of the owners with the fewest slots in use first. A session
-- waits with a message, or in the phase `started` after its agent has waited for other runs. An owner at its limit occupies none of
-- the p_max rows. Each phase is found by its own partial index.
CREATE OR REPLACE FUNCTION headrace.sessions_to_admit(p_pool text, p_max int, p_owner_capacity int, p_phase text)
RETURNS SETOF bigint LANGUAGE sql STABLE AS $$
  SELECT w.id FROM (
    SELECT e.id, e.idle_since,
           coalesce(s.used, 0) + row_number() OVER (PARTITION BY e.slot_key ORDER BY e.idle_since) AS nth,
           headrace.owner_capacity(e.slot_key, p_owner_capacity) AS capacity
      FROM (
        SELECT i.id, i.slot_key, i.idle_since FROM headrace.executions i
         WHERE p_phase = 'idle' AND i.pool = p_pool AND i.phase = 'idle' AND NOT i.slot_held AND i.desired = 'run'
           AND EXISTS (SELECT 1 FROM headrace.run_followups f WHERE f.run_id = i.run_id AND f.consumed_at IS NULL)
        UNION ALL
        SELECT d.id, d.slot_key, d.idle_since FROM headrace.executions d
         WHERE p_phase = 'debug' AND d.pool = p_pool AND d.phase = 'debug' AND NOT d.slot_held AND d.desired = 'run'
           AND EXISTS (SELECT 1 FROM headrace.run_followups f
                        WHERE f.run_id = d.run_id AND f.debug_execution_id = d.id AND f.consumed_at IS NULL)
        UNION ALL
        SELECT a.id, a.slot_key, a.slot_wanted_at FROM headrace.executions a
         WHERE p_phase = 'started' AND a.pool = p_pool AND a.slot_wanted_at IS NOT NULL AND a.phase = 'started'
           AND NOT a.slot_held AND a.desired = 'run'
      ) e LEFT JOIN headrace.slot_pools s ON s.key = e.slot_key
  ) w WHERE w.nth <= w.capacity ORDER BY w.nth, w.idle_since LIMIT p_max
$$;
