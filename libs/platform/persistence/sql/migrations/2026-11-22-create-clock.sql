-- The clock that all SQL of Headrace reads. Columns use it as their default, so it exists before the first table;
-- functions/now.sql repeats it with the other functions.
CREATE FUNCTION headrace.now() RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT pg_catalog.now()
$$;
