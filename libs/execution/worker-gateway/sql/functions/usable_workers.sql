-- The connections of a host that a run may be offered to. slots: as the worker reports it, or null. known_slots: learnt
-- from rejections, or null. is_paused: more than these were rejected a moment ago.
CREATE OR REPLACE FUNCTION headrace.usable_workers(p_team text, p_host text)
RETURNS TABLE (connection_id uuid, instance uuid, free_slots int, slots int, known_slots int, is_paused boolean)
LANGUAGE sql STABLE AS $$
  SELECT id, w.instance, w.free_slots, w.slots, w.known_slots, coalesce(w.rejected_until > headrace.now(), false)
    FROM headrace.worker_connections w
   WHERE team_uid = p_team AND worker_host = p_host AND alive_until > headrace.now() AND NOT draining
$$;
