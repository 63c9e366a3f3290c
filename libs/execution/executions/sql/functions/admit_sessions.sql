-- Gives slots to open sessions with a message that waits for one: every reader sees their run at work. p_phase: `idle` after a
-- turn, `debug` in a debug window.
CREATE OR REPLACE FUNCTION headrace.admit_sessions(p_pool text, p_phase text, p_max int, p_owner_capacity int) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_session bigint;
BEGIN
  FOR v_session IN SELECT headrace.sessions_to_admit(p_pool, p_max, p_owner_capacity, p_phase) LOOP
    PERFORM 1 FROM headrace.executions e
      WHERE e.id = v_session AND e.phase = p_phase AND NOT e.slot_held AND e.desired = 'run' FOR UPDATE SKIP LOCKED;
    CONTINUE WHEN NOT FOUND;
    IF headrace.acquire_slot(v_session, p_owner_capacity) THEN
      PERFORM pg_notify('headrace_commands', v_session::text);
    END IF;
  END LOOP;
END $$;
