-- Folds case, for the stored text of a search and for its words alike: both call this function, so there is one definition
-- of lower case. In addition a final sigma is a sigma, "ß" is "ss" (as in capitals), and Turkish "ı" and "İ" are "i",
-- because the language of a capital "I" cannot be known.
--
-- The collation is that of run_facets.search, so that a text is always compared by the collation that it was folded with.
DO $create$
DECLARE
  v_collate text := coalesce((
    SELECT 'COLLATE pg_catalog.' || quote_ident(c.collname)
      FROM pg_attribute a JOIN pg_collation c ON c.oid = a.attcollation AND c.collname <> 'default'
     WHERE a.attrelid = 'headrace.run_facets'::regclass AND a.attname = 'search'), '');
BEGIN
  EXECUTE format($format$
CREATE OR REPLACE FUNCTION headrace.search_fold(p_text text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT replace(translate(replace(lower(p_text %s), U&'i\0307', 'i'), 'ςı', 'σi'), 'ß', 'ss')
$$
$format$, v_collate);
END $create$;
