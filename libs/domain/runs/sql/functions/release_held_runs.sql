-- Releases the first run of each key whose time has come, and removes the runs that have ended before it. Visits up to p_max keys
-- after (p_slot_key, p_key) and returns the last one; null when there are no more. One process at a time.
CREATE OR REPLACE FUNCTION headrace.release_held_runs(INOUT p_slot_key text, INOUT p_key text, p_max int, OUT released int)
LANGUAGE plpgsql AS $$
DECLARE
  v_count int := 0;
  head record;
BEGIN
  released := 0;
  IF NOT pg_try_advisory_xact_lock(hashtextextended('release_held_runs', 0)) THEN
    p_slot_key := NULL;
    RETURN;
  END IF;
  LOOP
    IF v_count = p_max THEN
      RETURN;
    END IF;
    SELECT q.slot_key, q.key INTO p_slot_key, p_key FROM headrace.concurrency_queue q
     WHERE (q.slot_key, q.key) > (p_slot_key, p_key) ORDER BY q.slot_key, q.key LIMIT 1;
    EXIT WHEN NOT FOUND;
    v_count := v_count + 1;

    SELECT q.run_id, q.position, q.start_at, r.is_held INTO head
      FROM headrace.concurrency_queue q JOIN headrace.runs r ON r.id = q.run_id
     WHERE q.slot_key = p_slot_key AND q.key = p_key AND headrace.is_run_active(r.id, r.state) ORDER BY q.position LIMIT 1;
    DELETE FROM headrace.concurrency_queue q
     WHERE q.slot_key = p_slot_key AND q.key = p_key AND q.position < coalesce(head.position, 9223372036854775807)
       AND NOT headrace.is_run_active(q.run_id, (SELECT r.state FROM headrace.runs r WHERE r.id = q.run_id));
    IF head.is_held AND (head.start_at IS NULL OR head.start_at <= headrace.now()) THEN
      UPDATE headrace.runs r SET is_held = false, queued_at = headrace.now(), updated_at = headrace.now()
       WHERE r.id = head.run_id AND r.state = 'QUEUED' AND r.is_held;
      IF FOUND THEN
        released := released + 1;
      END IF;
    END IF;
  END LOOP;
END $$;
