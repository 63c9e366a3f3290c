-- functions/accept_deliveries.sql replaces it under another name.
DROP FUNCTION IF EXISTS headrace.take_deliveries(jsonb, bytea, bytea, int, interval);
