-- Gives slots to debug sessions with a message that waits for one. It is called before place_runs, because an open session
-- has priority over queued runs. Returns how many sessions got a slot.
CREATE OR REPLACE FUNCTION headrace.admit_debug_sessions(p_pool text, p_max int, p_owner_capacity int) RETURNS int
LANGUAGE plpgsql AS $$
DECLARE
  candidate bigint;
  v_admitted int := 0;
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
