-- The name of accept_deliveries in version 0.1.0, whose ingress processes run until they are replaced. The next version drops it.
CREATE OR REPLACE FUNCTION headrace.take_deliveries(p_items jsonb, p_keys bytea, p_bodies bytea, p_limit int, p_window interval)
RETURNS TABLE (verdict text, delivery_id uuid, retry_ms int) LANGUAGE sql VOLATILE AS $take$
  SELECT * FROM headrace.accept_deliveries(p_items, p_keys, p_bodies, p_limit, p_window)
$take$;
