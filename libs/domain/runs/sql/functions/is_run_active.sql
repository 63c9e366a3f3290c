-- Whether a run works, or will. A run that was cancelled is active until its execution has ended: its agent may still work.
CREATE OR REPLACE FUNCTION headrace.is_run_active(p_id uuid, p_state text) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN p_state IN ('SUCCEEDED', 'FAILED', 'ERROR') THEN false
    WHEN p_state IN ('CANCELLED', 'BLOCKED') THEN EXISTS (
      SELECT 1 FROM headrace.executions e WHERE e.run_id = p_id AND e.ended_at IS NULL)
    ELSE true END
$$;
