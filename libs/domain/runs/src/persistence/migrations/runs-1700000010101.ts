import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Slots by turns between owners, see docs/adr/0021. `slot_pools.turn`: of a pool the number of slots that it has given to
 * queued runs, of an owner the value of the pool's turn at the owner's latest one. `slot_pools.owner_cursor`: the owner
 * after which the next walk over the owners of a pool begins, where more owners wait than one walk covers.
 */
export class Runs1700000010101 implements MigrationInterface {
  name = 'Runs1700000010101';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
ALTER TABLE headrace.slot_pools
  ADD COLUMN turn bigint NOT NULL DEFAULT 0,
  ADD COLUMN owner_cursor text NOT NULL DEFAULT '';`);
    await queryRunner.query(OWNER_CAPACITY);
    await queryRunner.query(ACQUIRE_SLOT);
    await queryRunner.query(WAITING_SESSIONS);
    await queryRunner.query(ADMIT_DEBUG_SESSIONS);
    await queryRunner.query(PLACE_RUNS);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(PREVIOUS_FUNCTIONS);
    await queryRunner.query(`
DROP FUNCTION headrace.sessions_to_admit(text, int, int, text), headrace.owner_capacity(text, int);
ALTER TABLE headrace.slot_pools DROP COLUMN turn, DROP COLUMN owner_cursor;`);
  }
}

/** A team's own limit wins over the installation's, from the statement after its change. */
const OWNER_CAPACITY = `
CREATE FUNCTION headrace.owner_capacity(p_slot_key text, p_default int) RETURNS int LANGUAGE sql STABLE AS $$
  SELECT coalesce((SELECT t.max_concurrent_runs FROM headrace.teams t
                    WHERE starts_with(p_slot_key, 'team:') AND t.uid = substr(p_slot_key, 6)), p_default)
$$;
`;

/** An owner's row keeps the installation's limit in `capacity`; a team's own is looked up, so that no copy can be stale. */
const ACQUIRE_SLOT = `
CREATE OR REPLACE FUNCTION headrace.acquire_slot(p_execution bigint, p_owner_capacity int) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE v_key text; v_pool text; v_held boolean; v_capacity int;
BEGIN
  SELECT slot_key, pool, slot_held INTO v_key, v_pool, v_held
    FROM headrace.executions WHERE id = p_execution AND ended_at IS NULL FOR UPDATE;
  IF NOT FOUND THEN RETURN false; END IF;
  IF v_held OR v_pool <> 'hosted' THEN RETURN true; END IF;
  v_capacity := headrace.owner_capacity(v_key, p_owner_capacity);
  UPDATE headrace.slot_pools SET used = used + 1 WHERE key = 'pool:' || v_pool AND used < capacity;
  IF NOT FOUND THEN RETURN false; END IF;
  INSERT INTO headrace.slot_pools AS s (key, used, capacity) VALUES (v_key, 1, p_owner_capacity)
    ON CONFLICT (key) DO UPDATE SET used = s.used + 1, capacity = excluded.capacity WHERE s.used < v_capacity;
  IF NOT FOUND THEN
    UPDATE headrace.slot_pools SET used = used - 1 WHERE key = 'pool:' || v_pool;
    RETURN false;
  END IF;
  UPDATE headrace.executions SET slot_held = true WHERE id = p_execution;
  RETURN true;
END $$;
`;

/**
 * Open sessions with a message that waits for a slot, of owners that have one left: first those of the owners with the
 * fewest slots in use. An owner at its limit takes no place among the p_max. Each phase is found by its own partial index.
 */
const WAITING_SESSIONS = `
CREATE FUNCTION headrace.sessions_to_admit(p_pool text, p_max int, p_owner_capacity int, p_phase text)
RETURNS SETOF bigint LANGUAGE sql STABLE AS $$
  SELECT w.id FROM (
    SELECT e.id, e.idle_since, coalesce(s.used, 0) + row_number() OVER (PARTITION BY e.slot_key ORDER BY e.idle_since) AS nth,
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
      ) e LEFT JOIN headrace.slot_pools s ON s.key = e.slot_key
  ) w WHERE w.nth <= w.capacity ORDER BY w.nth, w.idle_since LIMIT p_max
$$;
`;

const ADMIT_DEBUG_SESSIONS = `
CREATE OR REPLACE FUNCTION headrace.admit_debug_sessions(p_pool text, p_max int, p_owner_capacity int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE candidate bigint; v_admitted int := 0;
BEGIN
  PERFORM 1 FROM headrace.slot_pools s WHERE s.key = 'pool:' || p_pool AND s.used < s.capacity;
  IF NOT FOUND THEN RETURN 0; END IF;
  FOR candidate IN SELECT headrace.sessions_to_admit(p_pool, p_max, p_owner_capacity, 'debug') LOOP
    PERFORM 1 FROM headrace.executions e
      WHERE e.id = candidate AND e.phase = 'debug' AND NOT e.slot_held AND e.desired = 'run' FOR UPDATE SKIP LOCKED;
    CONTINUE WHEN NOT FOUND;
    IF headrace.acquire_slot(candidate, p_owner_capacity) THEN
      PERFORM pg_notify('headrace_commands', candidate::text);
      v_admitted := v_admitted + 1;
    END IF;
  END LOOP;
  RETURN v_admitted;
END $$;
`;

/**
 * Offers up to p_max queued runs of a pool. Each free slot goes to the owner with the fewest slots in use, among those to the
 * one whose latest turn is the longest ago, and there to the oldest run. Owners are found by walking the partial index, one
 * probe each and at most 200 a call, so the cost depends on the number of owners that wait, never on the number of runs.
 */
const PLACE_RUNS = `
CREATE OR REPLACE FUNCTION headrace.place_runs(p_pool text, p_max int, p_owner_capacity int, p_claim_ms int, p_placed_by text)
RETURNS TABLE (execution_id bigint, run_id uuid) LANGUAGE plpgsql AS $$
DECLARE
  c_owners_a_call CONSTANT int := 200;
  candidate record; v_session bigint; v_now timestamptz := headrace.now(); v_after text; v_turn bigint; v_placed int := 0;
  v_owners text[]; v_used int[]; v_capacity int[]; v_order bigint[]; v_walked int; v_last text; v_chosen int; v_count int;
BEGIN
  SELECT s.owner_cursor INTO v_after FROM headrace.slot_pools s WHERE s.key = 'pool:' || p_pool AND s.used < s.capacity;
  IF NOT FOUND THEN RETURN; END IF;

  -- A session that waits with a follow-up goes first: it is open, and its run is in progress for everybody who reads it.
  FOR v_session IN SELECT headrace.sessions_to_admit(p_pool, p_max, p_owner_capacity, 'idle') LOOP
    PERFORM 1 FROM headrace.executions e
      WHERE e.id = v_session AND e.phase = 'idle' AND NOT e.slot_held AND e.desired = 'run' FOR UPDATE SKIP LOCKED;
    CONTINUE WHEN NOT FOUND;
    IF headrace.acquire_slot(v_session, p_owner_capacity) THEN
      PERFORM pg_notify('headrace_commands', v_session::text);
    END IF;
  END LOOP;

  -- From the cursor to the end of the index, then (wrapped) from its beginning to the cursor.
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

  WHILE v_placed < p_max LOOP
    -- An owner without anything to place has no count; ties go to the one whose turn is the longest ago.
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
    INSERT INTO headrace.executions (run_id, slot_key, pool, phase, placed_by, slot_held, idle_timeout_ms, offered_at, lease_expires_at)
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
`;

/** As the migrations before this one have left them. */
const PREVIOUS_FUNCTIONS = `
CREATE OR REPLACE FUNCTION headrace.acquire_slot(p_execution bigint, p_owner_capacity int) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE v_key text; v_pool text; v_held boolean;
BEGIN
  SELECT slot_key, pool, slot_held INTO v_key, v_pool, v_held
    FROM headrace.executions WHERE id = p_execution AND ended_at IS NULL FOR UPDATE;
  IF NOT FOUND THEN RETURN false; END IF;
  IF v_held OR v_pool <> 'hosted' THEN RETURN true; END IF;
  UPDATE headrace.slot_pools SET used = used + 1 WHERE key = 'pool:' || v_pool AND used < capacity;
  IF NOT FOUND THEN RETURN false; END IF;
  INSERT INTO headrace.slot_pools AS s (key, used, capacity) VALUES (v_key, 1, p_owner_capacity)
    ON CONFLICT (key) DO UPDATE SET used = s.used + 1, capacity = excluded.capacity WHERE s.used < excluded.capacity;
  IF NOT FOUND THEN
    UPDATE headrace.slot_pools SET used = used - 1 WHERE key = 'pool:' || v_pool;
    RETURN false;
  END IF;
  UPDATE headrace.executions SET slot_held = true WHERE id = p_execution;
  RETURN true;
END $$;
CREATE OR REPLACE FUNCTION headrace.admit_debug_sessions(p_pool text, p_max int, p_owner_capacity int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE candidate record; v_admitted int := 0;
BEGIN
  FOR candidate IN
    SELECT e.id FROM headrace.executions e
     WHERE e.pool = p_pool AND e.phase = 'debug' AND NOT e.slot_held AND e.desired = 'run'
       AND EXISTS (SELECT 1 FROM headrace.run_followups f
                    WHERE f.run_id = e.run_id AND f.debug_execution_id = e.id AND f.consumed_at IS NULL)
     ORDER BY e.idle_since LIMIT p_max FOR UPDATE OF e SKIP LOCKED
  LOOP
    IF headrace.acquire_slot(candidate.id, p_owner_capacity) THEN
      PERFORM pg_notify('headrace_commands', candidate.id::text);
      v_admitted := v_admitted + 1;
    END IF;
  END LOOP;
  RETURN v_admitted;
END $$;
CREATE OR REPLACE FUNCTION headrace.place_runs(p_pool text, p_max int, p_owner_capacity int, p_claim_ms int, p_placed_by text)
RETURNS TABLE (execution_id bigint, run_id uuid) LANGUAGE plpgsql AS $$
DECLARE candidate record; v_now timestamptz := headrace.now(); v_execution bigint;
BEGIN
  -- A session that waits with a follow-up goes first: it is open, and its run is in progress for whoever looks.
  FOR candidate IN
    SELECT e.id FROM headrace.executions e
     WHERE e.pool = p_pool AND e.phase = 'idle' AND NOT e.slot_held AND e.desired = 'run'
       AND EXISTS (SELECT 1 FROM headrace.run_followups f WHERE f.run_id = e.run_id AND f.consumed_at IS NULL)
     ORDER BY e.idle_since LIMIT p_max FOR UPDATE OF e SKIP LOCKED
  LOOP
    IF headrace.acquire_slot(candidate.id, p_owner_capacity) THEN
      PERFORM pg_notify('headrace_commands', candidate.id::text);
    END IF;
  END LOOP;
  FOR candidate IN
    WITH RECURSIVE owners AS (
      (SELECT r.slot_key FROM headrace.runs r WHERE r.state = 'QUEUED' AND r.pool = p_pool ORDER BY r.slot_key LIMIT 1)
      UNION ALL
      SELECT (SELECT r.slot_key FROM headrace.runs r
               WHERE r.state = 'QUEUED' AND r.pool = p_pool AND r.slot_key > o.slot_key ORDER BY r.slot_key LIMIT 1)
        FROM owners o WHERE o.slot_key IS NOT NULL
    )
    SELECT q.id, q.slot_key, q.config FROM owners o
      LEFT JOIN headrace.slot_pools s ON s.key = o.slot_key
      CROSS JOIN LATERAL (
        SELECT r.id, r.slot_key, r.config, r.queued_at FROM headrace.runs r
         WHERE r.state = 'QUEUED' AND r.pool = p_pool AND r.slot_key = o.slot_key
           AND NOT EXISTS (SELECT 1 FROM headrace.executions e WHERE e.run_id = r.id AND e.ended_at IS NULL)
         ORDER BY r.queued_at LIMIT least(p_max, greatest(0, p_owner_capacity - coalesce(s.used, 0)))
      ) q
     WHERE o.slot_key IS NOT NULL
     ORDER BY q.queued_at LIMIT p_max
  LOOP
    PERFORM 1 FROM headrace.runs r WHERE r.id = candidate.id AND r.state = 'QUEUED' FOR UPDATE SKIP LOCKED;
    CONTINUE WHEN NOT FOUND;
    UPDATE headrace.slot_pools SET used = used + 1 WHERE key = 'pool:' || p_pool AND used < capacity;
    EXIT WHEN NOT FOUND;
    INSERT INTO headrace.slot_pools AS s (key, used, capacity) VALUES (candidate.slot_key, 1, p_owner_capacity)
      ON CONFLICT (key) DO UPDATE SET used = s.used + 1, capacity = excluded.capacity WHERE s.used < excluded.capacity;
    IF NOT FOUND THEN
      UPDATE headrace.slot_pools SET used = used - 1 WHERE key = 'pool:' || p_pool;
      CONTINUE;
    END IF;
    INSERT INTO headrace.executions (run_id, slot_key, pool, phase, placed_by, slot_held, idle_timeout_ms, offered_at, lease_expires_at)
      VALUES (candidate.id, candidate.slot_key, p_pool, 'offered', p_placed_by, true,
              (coalesce((candidate.config->>'idle_timeout_minutes')::numeric, 10) * 60000)::int,
              v_now, v_now + p_claim_ms * interval '1 millisecond')
      RETURNING id INTO v_execution;
    UPDATE headrace.runs r SET state = 'PENDING', offers = r.offers + 1, updated_at = v_now WHERE r.id = candidate.id;
    execution_id := v_execution; run_id := candidate.id;
    RETURN NEXT;
  END LOOP;
END $$;
`;
