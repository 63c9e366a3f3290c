-- Offers queued runs of the given hosts, each of one team, oldest first, to their least loaded usable connections, and to
-- the connection that has just lost a run only where there is no other one. A row without an execution says that runs of
-- this team wait because all connections of this host are full.
CREATE OR REPLACE FUNCTION headrace.place_worker_runs(p_teams text[], p_hosts text[], p_max int, p_claim_ms int, p_placed_by text)
RETURNS TABLE (execution_id bigint, run_id uuid, connection_id uuid, team text, host text) LANGUAGE plpgsql AS $$
DECLARE
  place record;
  candidate record;
  v_pool text;
  v_slot_key text;
  v_now timestamptz;
  -- Of each usable connection of the host.
  v_connections uuid[];
  v_live int[];
  v_capacity int[];
  v_says_full boolean[];
  v_is_full boolean;
  v_chosen int;
BEGIN
  FOR place IN SELECT DISTINCT a.team AS uid, a.host AS name FROM unnest(p_teams, p_hosts) AS a (team, host) ORDER BY 1, 2 LOOP
    v_pool := 'worker:' || place.name;
    v_slot_key := 'team:' || place.uid;
    CONTINUE WHEN NOT EXISTS (
      SELECT 1 FROM headrace.runs r WHERE r.state = 'QUEUED' AND r.pool = v_pool AND r.slot_key = v_slot_key);
    -- One caller at a time places on a host, so that no connection is offered more than its capacity.
    PERFORM pg_advisory_xact_lock(hashtextextended(v_pool || ' ' || v_slot_key, 0));
    team := place.uid;
    host := place.name;
    v_now := headrace.now();

    -- The capacity of a connection (answered: executions that it has claimed). A worker that reports no slots gets few
    -- offers at a time, because it answers each one that it has no slot for with a rejection. After a rejection it gets as
    -- many executions as it had then, and one more as a test when the pause is over.
    SELECT array_agg(w.connection_id), array_agg(l.live),
        array_agg(least(w.slots, CASE
          WHEN w.known_slots IS NULL THEN CASE WHEN w.slots IS NULL THEN l.answered + 4 END
          WHEN w.is_paused THEN w.known_slots
          ELSE greatest(w.known_slots, l.answered + 1) END)),
        array_agg(coalesce(w.free_slots = 0, false)), bool_and(w.slots IS NOT NULL OR w.known_slots IS NOT NULL)
      INTO v_connections, v_live, v_capacity, v_says_full, v_is_full
      FROM headrace.usable_workers(place.uid, place.name) w
      CROSS JOIN LATERAL (SELECT count(*)::int AS live, (count(*) FILTER (WHERE e.phase <> 'offered'))::int AS answered
                            FROM headrace.executions e
                           WHERE e.worker_connection_id = w.connection_id AND e.ended_at IS NULL) l;
    CONTINUE WHEN v_connections IS NULL;

    FOR candidate IN
      SELECT r.id, r.config->>'idle_timeout_minutes' AS idle_minutes, failed.worker_connection_id AS failed_on
        FROM headrace.runs r
        LEFT JOIN LATERAL (SELECT e.worker_connection_id, e.end_reason FROM headrace.executions e
                            WHERE e.run_id = r.id ORDER BY e.id DESC LIMIT 1) failed
          ON failed.end_reason IN ('claim_expired', 'lease_expired', 'infrastructure_timeout')
       WHERE r.state = 'QUEUED' AND r.pool = v_pool AND r.slot_key = v_slot_key
         AND NOT EXISTS (SELECT 1 FROM headrace.executions e WHERE e.run_id = r.id AND e.ended_at IS NULL)
       ORDER BY r.queued_at, r.id LIMIT p_max
    LOOP
      SELECT w.place INTO v_chosen
        FROM unnest(v_connections, v_live, v_capacity, v_says_full) WITH ORDINALITY AS w (id, live, capacity, says_full, place)
       WHERE w.capacity IS NULL OR w.live < w.capacity
       ORDER BY w.says_full, w.id IS NOT DISTINCT FROM candidate.failed_on, w.live, random() LIMIT 1;
      IF NOT FOUND THEN
        EXIT WHEN NOT v_is_full;
        execution_id := NULL;
        run_id := NULL;
        connection_id := NULL;
        RETURN NEXT;
        EXIT;
      END IF;
      PERFORM 1 FROM headrace.runs r WHERE r.id = candidate.id AND r.state = 'QUEUED' FOR UPDATE SKIP LOCKED;
      CONTINUE WHEN NOT FOUND;
      INSERT INTO headrace.executions (run_id, slot_key, pool, phase, placed_by, slot_held, idle_timeout_ms, offered_at,
          lease_expires_at, worker_connection_id)
        VALUES (candidate.id, v_slot_key, v_pool, 'offered', p_placed_by, false,
                (coalesce(candidate.idle_minutes::numeric, 10) * 60000)::int,
                v_now, v_now + p_claim_ms * interval '1 millisecond', v_connections[v_chosen])
        RETURNING id INTO execution_id;
      UPDATE headrace.runs r SET state = 'PENDING', offers = r.offers + 1, updated_at = v_now WHERE r.id = candidate.id;
      v_live[v_chosen] := v_live[v_chosen] + 1;
      run_id := candidate.id;
      connection_id := v_connections[v_chosen];
      RETURN NEXT;
    END LOOP;
  END LOOP;
END $$;
