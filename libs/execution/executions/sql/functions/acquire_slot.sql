-- Acquires a slot for a live execution. Returns false when the execution has ended or no slot is free. Slots are counted
-- for hosted runs only: on machines of others Headrace sets no limit.
CREATE OR REPLACE FUNCTION headrace.acquire_slot(p_execution bigint, p_owner_capacity int) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
  v_key text;
  v_pool text;
  v_held boolean;
  v_capacity int;
BEGIN
  SELECT slot_key, pool, slot_held INTO v_key, v_pool, v_held
    FROM headrace.executions WHERE id = p_execution AND ended_at IS NULL FOR UPDATE;
  IF NOT FOUND THEN RETURN false; END IF;
  IF v_held OR v_pool <> 'hosted' THEN RETURN true; END IF;
  v_capacity := headrace.owner_capacity(v_key, p_owner_capacity);
  -- First the row of the pool, then the row of the owner, see release_slot.
  UPDATE headrace.slot_pools SET used = used + 1 WHERE key = 'pool:' || v_pool AND used < capacity;
  IF NOT FOUND THEN RETURN false; END IF;
  -- The row of an owner keeps the limit of the installation in `capacity`.
  INSERT INTO headrace.slot_pools AS s (key, used, capacity) VALUES (v_key, 1, p_owner_capacity)
    ON CONFLICT (key) DO UPDATE SET used = s.used + 1, capacity = excluded.capacity WHERE s.used < v_capacity;
  IF NOT FOUND THEN
    UPDATE headrace.slot_pools SET used = used - 1 WHERE key = 'pool:' || v_pool;
    RETURN false;
  END IF;
  UPDATE headrace.executions SET slot_held = true, slot_wanted_at = NULL WHERE id = p_execution;
  RETURN true;
END $$;
