-- Releases the slot of an execution. Returns false when it held none.
CREATE OR REPLACE FUNCTION headrace.release_slot(p_execution bigint) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  v_key text;
  v_pool text;
BEGIN
  UPDATE headrace.executions SET slot_held = false WHERE id = p_execution AND slot_held
    RETURNING slot_key, pool INTO v_key, v_pool;
  IF NOT FOUND THEN RETURN false; END IF;
  -- The row of the pool is always locked before the row of the owner, here, in acquire_slot and in place_executions, so that
  -- they cannot deadlock.
  UPDATE headrace.slot_pools SET used = used - 1 WHERE key = 'pool:' || v_pool;
  UPDATE headrace.slot_pools SET used = used - 1 WHERE key = v_key;
  RETURN true;
END $$;
