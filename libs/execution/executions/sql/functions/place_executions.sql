-- Offers up to p_max queued runs of each target to its workers, see docs/adr/0021. A target is a pool and the owner whose runs
-- are placed. Without an owner all owners share the pool: its slots are counted, and its worker is the caller, which has p_max
-- of them free. With an owner, the workers are the connections of that owner, and each has its own capacity.
--
-- Each free slot goes to the owner with the fewest slots in use, among those to the one whose latest turn is the longest ago,
-- and there to the oldest run. At most 200 owners are looked at in a call. An execution goes to the connection with the fewest
-- ones, and to the one that has just lost the run only where there is no other. A row without an execution says that runs of
-- the target wait because all of its connections are full.
CREATE OR REPLACE FUNCTION headrace.place_executions(
  p_pools text[], p_slot_keys text[], p_max int, p_owner_capacity int, p_claim_ms int, p_placed_by text)
RETURNS TABLE (execution_id bigint, run_id uuid, connection_id uuid, pool text, slot_key text) LANGUAGE plpgsql AS $$
DECLARE
  c_owners_a_call CONSTANT int := 200;
  target record;
  v_is_shared boolean;
  v_now timestamptz;
  v_after text;
  v_walked int;
  v_last text;
  -- Of each owner that waits and is below its limit, in the order of their turns. One without a run to place has no count.
  v_owners text[];
  v_used int[];
  v_limit int[];
  v_turns bigint[];
  v_owner int;
  -- Of each usable connection. One without a capacity has no limit.
  v_connections uuid[];
  v_live int[];
  v_capacity int[];
  v_says_full boolean[];
  v_is_known boolean;
  v_connection int;
  v_failed_on uuid;
  candidate record;
  v_turn bigint;
  v_count int;
  v_placed int;
BEGIN
  IF EXISTS (SELECT FROM headrace.installation_hold) THEN
    RETURN;
  END IF;
  FOR target IN SELECT DISTINCT t.pool, t.slot_key FROM unnest(p_pools, p_slot_keys) AS t (pool, slot_key) ORDER BY 1, 2 LOOP
    pool := target.pool;
    v_is_shared := target.slot_key IS NULL;

    IF v_is_shared THEN
      SELECT s.owner_cursor INTO v_after FROM headrace.slot_pools s WHERE s.key = 'pool:' || pool AND s.used < s.capacity;
      CONTINUE WHEN NOT FOUND;
      PERFORM headrace.admit_sessions(pool, 'started', p_max, p_owner_capacity);
      PERFORM headrace.admit_sessions(pool, 'debug', p_max, p_owner_capacity);
      PERFORM headrace.admit_sessions(pool, 'idle', p_max, p_owner_capacity);
      SELECT max(o.nth), max(o.slot_key) FILTER (WHERE o.nth = c_owners_a_call),
             array_agg(o.slot_key ORDER BY o.turn, o.nth) FILTER (WHERE o.slot_key <> '' AND o.used < o.capacity),
             array_agg(o.used ORDER BY o.turn, o.nth) FILTER (WHERE o.slot_key <> '' AND o.used < o.capacity),
             array_agg(o.capacity ORDER BY o.turn, o.nth) FILTER (WHERE o.slot_key <> '' AND o.used < o.capacity),
             array_agg(o.turn ORDER BY o.turn, o.nth) FILTER (WHERE o.slot_key <> '' AND o.used < o.capacity)
        INTO v_walked, v_last, v_owners, v_used, v_limit, v_turns
        FROM headrace.waiting_owners(pool, v_after, c_owners_a_call, p_owner_capacity) o;
      IF v_walked = c_owners_a_call THEN
        UPDATE headrace.slot_pools SET owner_cursor = v_last WHERE key = 'pool:' || pool;
      END IF;
      v_connections := ARRAY[NULL]::uuid[];
      v_live := ARRAY[0];
      v_capacity := ARRAY[p_max];
      v_says_full := ARRAY[false];
      v_is_known := false;
    ELSE
      CONTINUE WHEN NOT EXISTS (
        SELECT 1 FROM headrace.runs r WHERE r.state = 'QUEUED' AND NOT r.is_held AND r.pool = target.pool AND r.slot_key = target.slot_key);
      -- One caller at a time places on a host, so that no connection is offered more than its capacity.
      PERFORM pg_advisory_xact_lock(hashtextextended(target.pool || ' ' || target.slot_key, 0));
      SELECT array_agg(c.connection_id), array_agg(c.live), array_agg(c.capacity), array_agg(c.says_full), bool_and(c.is_known)
        INTO v_connections, v_live, v_capacity, v_says_full, v_is_known
        FROM headrace.worker_capacity(target.pool, target.slot_key) c;
      CONTINUE WHEN v_connections IS NULL;
      v_owners := ARRAY[target.slot_key];
      v_used := ARRAY[0];
      v_limit := ARRAY[NULL]::int[];
      v_turns := ARRAY[0]::bigint[];
    END IF;
    v_now := headrace.now();
    v_placed := 0;

    WHILE v_placed < p_max LOOP
      SELECT o.nth INTO v_owner FROM unnest(v_used, v_limit, v_turns) WITH ORDINALITY AS o (used, capacity, turn, nth)
       WHERE o.used < o.capacity OR (o.capacity IS NULL AND o.used IS NOT NULL) ORDER BY o.used, o.turn, o.nth LIMIT 1;
      EXIT WHEN NOT FOUND;
      slot_key := v_owners[v_owner];
      SELECT r.id, r.config->>'idle_timeout_minutes' AS idle_minutes INTO candidate FROM headrace.runs r
       WHERE r.state = 'QUEUED' AND NOT r.is_held AND r.pool = target.pool AND r.slot_key = v_owners[v_owner]
         -- OFFSET keeps this a probe for each row that is read: a join would be planned for all runs of the owner.
         AND NOT EXISTS (SELECT 1 FROM headrace.executions e WHERE e.run_id = r.id AND e.ended_at IS NULL OFFSET 0)
       ORDER BY r.queued_at LIMIT 1 FOR NO KEY UPDATE OF r SKIP LOCKED;
      IF NOT FOUND THEN
        v_used[v_owner] := NULL;
        CONTINUE;
      END IF;
      run_id := candidate.id;

      v_failed_on := NULL;
      IF cardinality(v_connections) > 1 THEN
        SELECT e.worker_connection_id INTO v_failed_on FROM headrace.executions e
         WHERE e.id = (SELECT max(earlier.id) FROM headrace.executions earlier WHERE earlier.run_id = candidate.id)
           AND e.end_reason IN ('claim_expired', 'lease_expired', 'infrastructure_timeout');
      END IF;
      SELECT c.nth INTO v_connection
        FROM unnest(v_connections, v_live, v_capacity, v_says_full) WITH ORDINALITY AS c (id, live, capacity, says_full, nth)
       WHERE c.capacity IS NULL OR c.live < c.capacity
       ORDER BY c.says_full, c.id IS NOT DISTINCT FROM v_failed_on, c.live, random() LIMIT 1;
      IF NOT FOUND THEN
        EXIT WHEN NOT v_is_known;
        execution_id := NULL;
        run_id := NULL;
        connection_id := NULL;
        RETURN NEXT;
        EXIT;
      END IF;

      IF v_is_shared THEN
        UPDATE headrace.slot_pools SET used = used + 1, turn = turn + 1 WHERE key = 'pool:' || pool AND used < capacity
          RETURNING turn INTO v_turn;
        EXIT WHEN NOT FOUND;
        INSERT INTO headrace.slot_pools AS s (key, used, capacity, turn) VALUES (v_owners[v_owner], 1, p_owner_capacity, v_turn)
          ON CONFLICT (key) DO UPDATE SET used = s.used + 1, capacity = excluded.capacity, turn = excluded.turn
            WHERE s.used < v_limit[v_owner]
          RETURNING s.used INTO v_count;
        IF NOT FOUND THEN
          UPDATE headrace.slot_pools SET used = used - 1 WHERE key = 'pool:' || pool;
          v_used[v_owner] := NULL;
          CONTINUE;
        END IF;
        v_used[v_owner] := v_count;
        v_turns[v_owner] := v_turn;
      END IF;
      v_live[v_connection] := v_live[v_connection] + 1;
      connection_id := v_connections[v_connection];
      INSERT INTO headrace.executions (run_id, slot_key, pool, phase, placed_by, slot_held, idle_timeout_ms, offered_at,
          lease_expires_at, worker_connection_id)
        VALUES (candidate.id, v_owners[v_owner], target.pool, 'offered', p_placed_by, v_is_shared,
                (coalesce(candidate.idle_minutes::numeric, 10) * 60000)::int,
                v_now, v_now + p_claim_ms * interval '1 millisecond', connection_id)
        RETURNING id INTO execution_id;
      UPDATE headrace.runs r SET state = 'PENDING', offers = r.offers + 1, updated_at = v_now WHERE r.id = candidate.id;
      v_placed := v_placed + 1;
      RETURN NEXT;
    END LOOP;
  END LOOP;
END $$;
