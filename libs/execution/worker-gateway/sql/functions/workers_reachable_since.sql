-- Since when workers have been able to connect; null while they are not.
CREATE OR REPLACE FUNCTION headrace.workers_reachable_since() RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT since FROM headrace.worker_reachability WHERE alive_until > headrace.now()
$$;
