-- The values that lists of runs are filtered and searched by. They are not columns with indexes of `runs`, because every
-- change of a run's state would write those indexes: a row of run_facets is written once, with its run.
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE EXTENSION IF NOT EXISTS btree_gin;

CREATE TABLE headrace.run_facets (
  run_id uuid PRIMARY KEY,
  slot_key text NOT NULL,
  -- See functions/run_tokens.sql.
  tokens bigint[] NOT NULL,
  -- See functions/run_search_text.sql.
  search text NOT NULL
);

-- The collation of the searched text knows the letters of all languages, whatever the locale of the database is: in locale
-- C only ASCII has upper and lower case, and in a Turkish locale "I" is not the "i" of "id". PostgreSQL 17 has the first
-- one, builds with ICU have the other; without either, the collation of the database is used. functions/search_fold.sql
-- uses the collation of this column.
DO $$
DECLARE
  v_collation text;
BEGIN
  SELECT collname INTO v_collation FROM pg_collation
   WHERE collnamespace = 'pg_catalog'::regnamespace AND collname IN ('pg_c_utf8', 'und-x-icu')
     AND collencoding IN (-1, pg_char_to_encoding(getdatabaseencoding()))
   ORDER BY collname LIMIT 1;
  IF FOUND THEN
    EXECUTE format('ALTER TABLE headrace.run_facets ALTER COLUMN search TYPE text COLLATE pg_catalog.%I', v_collation);
  END IF;
END $$;

CREATE INDEX ix_run_facets__tokens ON headrace.run_facets USING gin (tokens) WITH (gin_pending_list_limit = 1024);
CREATE INDEX ix_run_facets__search ON headrace.run_facets USING gin (slot_key, search gin_trgm_ops)
  WITH (gin_pending_list_limit = 1024);

-- One row: the run up to which the facets were compared with their runs.
CREATE TABLE headrace.facet_repairs (
  only_row boolean PRIMARY KEY DEFAULT true CONSTRAINT ck_facet_repairs__one CHECK (only_row),
  upto uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000'
);
INSERT INTO headrace.facet_repairs DEFAULT VALUES;
