-- A token says "a run of this owner has this value". The owner is a part of it, so a probe finds no runs of other owners.
-- Tokens are hashes: a query that finds a run by its token also compares the value.
CREATE OR REPLACE FUNCTION headrace.run_token(p_slot_key text, p_kind text, p_value text) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT hashtextextended(p_slot_key || chr(31) || p_kind || chr(31) || p_value, 0)
$$;
