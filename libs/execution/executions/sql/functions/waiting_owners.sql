-- Up to p_max owners with queued runs in a pool, from p_after to the end of the index and then (wrapped) from its start to
-- p_after. Each one costs a probe of the partial index, so the cost does not depend on the number of queued runs. The last row
-- may have an empty key, which stands for the end of the index.
CREATE OR REPLACE FUNCTION headrace.waiting_owners(p_pool text, p_after text, p_max int, p_owner_capacity int)
RETURNS TABLE (slot_key text, nth int, used int, capacity int, turn bigint) LANGUAGE sql STABLE AS $$
  WITH RECURSIVE walk AS (
    SELECT p_after AS slot_key, false AS wrapped, 0 AS nth
    UNION ALL
    SELECT coalesce(following.slot_key, ''), w.wrapped OR following.slot_key IS NULL, w.nth + 1
      FROM walk w LEFT JOIN LATERAL (
        SELECT r.slot_key FROM headrace.runs r
         WHERE r.state = 'QUEUED' AND NOT r.is_held AND r.pool = p_pool AND r.slot_key > w.slot_key ORDER BY r.slot_key LIMIT 1) following ON true
     WHERE w.nth < p_max AND (NOT w.wrapped OR following.slot_key <= p_after)
  )
  SELECT w.slot_key, w.nth, coalesce(s.used, 0), coalesce(t.max_concurrent_runs, p_owner_capacity), coalesce(s.turn, 0)
    FROM walk w LEFT JOIN headrace.slot_pools s ON s.key = w.slot_key
      LEFT JOIN headrace.teams t ON starts_with(w.slot_key, 'team:') AND t.uid = substr(w.slot_key, 6)
   WHERE w.nth > 0
$$;
