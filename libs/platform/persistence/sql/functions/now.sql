-- SQL of Headrace calls headrace.now(), never now(): tests replace this function to move the time.
CREATE OR REPLACE FUNCTION headrace.now() RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT pg_catalog.now()
$$;
