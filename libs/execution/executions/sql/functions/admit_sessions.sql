-- Gives slots to open sessions that wait for one. p_phase: `idle` after a turn and `debug` in a debug window, with a message that
-- waits: every reader sees their run at work. `started`: after their agent has waited for other runs.
CREATE OR REPLACE FUNCTION headrace.admit_sessions(p_pool text, p_phase text, p_max int, p_owner_capacity int) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_session bigint;
BEGIN
  FOR v_session IN SELECT headrace.sessions_to_admit(p_pool, p_max, p_owner_capacity, p_phase) LOOP
    PERFORM 1 FROM headrace.executions e
      WHERE e.id = v_session AND e.phase = p_phase AND NOT e.slot_held AND e.desired = 'run'
        AND (p_phase <> 'started' OR e.slot_wanted_at IS NOT NULL) FOR UPDATE SKIP LOCKED;
    CONTINUE WHEN NOT FOUND;
    IF headrace.acquire_slot(v_session, p_owner_capacity) THEN
      PERFORM pg_notify('headrace_commands', v_session::text);
    END IF;
  END LOOP;
END $$;
