-- Creates the partitions of run_events for the current month and the given number of months after it. Their bounds are the
-- smallest UUIDv7 of each month in UTC.
CREATE OR REPLACE FUNCTION headrace.ensure_run_event_partitions(p_months_ahead int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  partition record;
BEGIN
  FOR partition IN
    WITH months AS (
      SELECT nth, date_trunc('month', headrace.now() AT TIME ZONE 'UTC') + make_interval(months => nth) AS starts_at
        FROM generate_series(0, p_months_ahead + 1) AS nth
    ), bounds AS (
      SELECT nth, 'run_events_' || to_char(starts_at, 'YYYY_MM') AS name,
             (lpad(to_hex((extract(epoch FROM starts_at) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid AS first_id
        FROM months
    )
    SELECT b.name, b.first_id, n.first_id AS next_id FROM bounds b JOIN bounds n ON n.nth = b.nth + 1 ORDER BY b.nth
  LOOP
    IF to_regclass('headrace.' || partition.name) IS NULL THEN
      EXECUTE format('CREATE TABLE headrace.%I PARTITION OF headrace.run_events FOR VALUES FROM (%L) TO (%L)',
        partition.name, partition.first_id, partition.next_id);
    END IF;
  END LOOP;
END $$;

-- A new database needs its partitions before the maintenance of the first processor: a month of which the default partition
-- contains a run can no longer get a partition.
SELECT headrace.ensure_run_event_partitions(3);
