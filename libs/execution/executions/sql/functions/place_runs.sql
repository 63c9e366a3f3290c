-- Offers up to p_max queued runs of a pool, see docs/adr/0021. Each free slot goes to the owner with the fewest slots in
-- use, among those to the one whose latest turn is the longest ago, and there to the oldest run. Owners are found by a walk
-- over the partial index, with one probe for each and at most 200 in a call, so the cost depends on the number of owners
-- that wait, never on the number of runs.
CREATE OR REPLACE FUNCTION headrace.place_runs(p_pool text, p_max int, p_owner_capacity int, p_claim_ms int, p_placed_by text)
RETURNS TABLE (execution_id bigint, run_id uuid) LANGUAGE plpgsql AS $$
DECLARE
  c_owners_a_call CONSTANT int := 200;
  v_now timestamptz := headrace.now();
  v_session bigint;
  v_after text;
  v_walked int;
  v_last text;
  -- Of each owner that waits and is below its limit, in the order of their turns.
  v_owners text[];
  v_used int[];
  v_capacity int[];
  v_order bigint[];
  v_chosen int;
  candidate record;
  v_turn bigint;
  v_count int;
  v_placed int := 0;
BEGIN
  SELECT s.owner_cursor INTO v_after FROM headrace.slot_pools s WHERE s.key = 'pool:' || p_pool AND s.used < s.capacity;
  IF NOT FOUND THEN RETURN; END IF;

  -- 1. Sessions that wait with a follow-up. They are open, and every reader sees their run in progress.
  FOR v_session IN SELECT headrace.sessions_to_admit(p_pool, p_max, p_owner_capacity, 'idle') LOOP
    PERFORM 1 FROM headrace.executions e
      WHERE e.id = v_session AND e.phase = 'idle' AND NOT e.slot_held AND e.desired = 'run' FOR UPDATE SKIP LOCKED;
    CONTINUE WHEN NOT FOUND;
    IF headrace.acquire_slot(v_session, p_owner_capacity) THEN
      PERFORM pg_notify('headrace_commands', v_session::text);
    END IF;
  END LOOP;

  -- 2. The owners with queued runs: from the cursor to the end of the index, then (wrapped) from its start to the cursor.
  WITH RECURSIVE walk AS (
    SELECT v_after AS slot_key, false AS wrapped, 0 AS nth
    UNION ALL
    SELECT coalesce(following.slot_key, ''), w.wrapped OR following.slot_key IS NULL, w.nth + 1
      FROM walk w LEFT JOIN LATERAL (
        SELECT r.slot_key FROM headrace.runs r
         WHERE r.state = 'QUEUED' AND r.pool = p_pool AND r.slot_key > w.slot_key ORDER BY r.slot_key LIMIT 1) following ON true
     WHERE w.nth < c_owners_a_call AND (NOT w.wrapped OR following.slot_key <= v_after)
  ), owners AS (
    SELECT w.slot_key, w.nth, coalesce(s.used, 0) AS used, coalesce(s.turn, 0) AS turn,
           coalesce(t.max_concurrent_runs, p_owner_capacity) AS capacity
      FROM walk w LEFT JOIN headrace.slot_pools s ON s.key = w.slot_key
        LEFT JOIN headrace.teams t ON starts_with(w.slot_key, 'team:') AND t.uid = substr(w.slot_key, 6)
     WHERE w.nth > 0
  )
  SELECT max(o.nth), max(o.slot_key) FILTER (WHERE o.nth = c_owners_a_call),
         array_agg(o.slot_key ORDER BY o.turn, o.nth) FILTER (WHERE o.slot_key <> '' AND o.used < o.capacity),
         array_agg(o.used ORDER BY o.turn, o.nth) FILTER (WHERE o.slot_key <> '' AND o.used < o.capacity),
         array_agg(o.capacity ORDER BY o.turn, o.nth) FILTER (WHERE o.slot_key <> '' AND o.used < o.capacity),
         array_agg(o.turn ORDER BY o.turn, o.nth) FILTER (WHERE o.slot_key <> '' AND o.used < o.capacity)
    INTO v_walked, v_last, v_owners, v_used, v_capacity, v_order FROM owners o;
  IF v_walked = c_owners_a_call THEN
    UPDATE headrace.slot_pools SET owner_cursor = v_last WHERE key = 'pool:' || p_pool;
  END IF;

  -- 3. One slot after another.
  WHILE v_placed < p_max LOOP
    -- An owner without a run to place has no count. Among equals the one whose turn is the longest ago is chosen.
    SELECT o.place INTO v_chosen FROM unnest(v_used, v_capacity, v_order) WITH ORDINALITY AS o (used, capacity, turn, place)
     WHERE o.used < o.capacity ORDER BY o.used, o.turn, o.place LIMIT 1;
    EXIT WHEN NOT FOUND;
    SELECT r.id, r.config->>'idle_timeout_minutes' AS idle_minutes INTO candidate FROM headrace.runs r
     WHERE r.state = 'QUEUED' AND r.pool = p_pool AND r.slot_key = v_owners[v_chosen]
       -- OFFSET keeps this a probe for each row that is read: a join would be planned for all runs of the owner.
       AND NOT EXISTS (SELECT 1 FROM headrace.executions e WHERE e.run_id = r.id AND e.ended_at IS NULL OFFSET 0)
     ORDER BY r.queued_at LIMIT 1 FOR NO KEY UPDATE OF r SKIP LOCKED;
    IF NOT FOUND THEN
      v_used[v_chosen] := NULL;
      CONTINUE;
    END IF;
    UPDATE headrace.slot_pools SET used = used + 1, turn = turn + 1 WHERE key = 'pool:' || p_pool AND used < capacity
      RETURNING turn INTO v_turn;
    EXIT WHEN NOT FOUND;
    INSERT INTO headrace.slot_pools AS s (key, used, capacity, turn) VALUES (v_owners[v_chosen], 1, p_owner_capacity, v_turn)
      ON CONFLICT (key) DO UPDATE SET used = s.used + 1, capacity = excluded.capacity, turn = excluded.turn
        WHERE s.used < v_capacity[v_chosen]
      RETURNING s.used INTO v_count;
    IF NOT FOUND THEN
      UPDATE headrace.slot_pools SET used = used - 1 WHERE key = 'pool:' || p_pool;
      v_used[v_chosen] := NULL;
      CONTINUE;
    END IF;
    v_used[v_chosen] := v_count;
    v_order[v_chosen] := v_turn;
    INSERT INTO headrace.executions (run_id, slot_key, pool, phase, placed_by, slot_held, idle_timeout_ms, offered_at,
        lease_expires_at)
      VALUES (candidate.id, v_owners[v_chosen], p_pool, 'offered', p_placed_by, true,
              (coalesce(candidate.idle_minutes::numeric, 10) * 60000)::int,
              v_now, v_now + p_claim_ms * interval '1 millisecond')
      RETURNING id INTO execution_id;
    UPDATE headrace.runs r SET state = 'PENDING', offers = r.offers + 1, updated_at = v_now WHERE r.id = candidate.id;
    run_id := candidate.id;
    v_placed := v_placed + 1;
    RETURN NEXT;
  END LOOP;
END $$;
