-- How many slots an owner may use. A team's own limit has priority over the limit of the installation, and applies from
-- the statement after its change: it is looked up here, so there is no copy that could be stale.
CREATE OR REPLACE FUNCTION headrace.owner_capacity(p_slot_key text, p_default int) RETURNS int LANGUAGE sql STABLE AS $$
  SELECT coalesce((SELECT t.max_concurrent_runs FROM headrace.teams t
                    WHERE starts_with(p_slot_key, 'team:') AND t.uid = substr(p_slot_key, 6)), p_default)
$$;
