-- The words in the texts of each owner's runs, in which a search (`q`) finds what a misspelt word may mean: they are few and
-- short, compared with the texts. See persistence/run-words.store.ts for what a word is. A task writes them some minutes after the run, so that creating a run does not.
CREATE TABLE headrace.run_words (
  slot_key text NOT NULL,
  word text NOT NULL,
  -- All runs with the word if they are 16 or fewer; of other words 17 runs.
  run_ids uuid[] NOT NULL,
  PRIMARY KEY (word, slot_key)
) WITH (fillfactor = 85);

-- The collation of the text that the words are from.
DO $$
DECLARE
  v_collation regcollation := (SELECT a.attcollation FROM pg_attribute a
    WHERE a.attrelid = 'headrace.run_facets'::regclass AND a.attname = 'search');
BEGIN
  EXECUTE format('ALTER TABLE headrace.run_words ALTER COLUMN word TYPE text COLLATE %s', v_collation);
END $$;

CREATE INDEX ix_run_words__word ON headrace.run_words USING gin (slot_key, word gin_trgm_ops)
  WITH (gin_pending_list_limit = 1024);

-- One row: the run up to which the words were collected, and the word up to which it was checked that its runs exist.
CREATE TABLE headrace.run_word_progress (
  only_row boolean PRIMARY KEY DEFAULT true CONSTRAINT ck_run_word_progress__one CHECK (only_row),
  upto uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
  checked_word text NOT NULL DEFAULT '',
  checked_slot_key text NOT NULL DEFAULT ''
);
INSERT INTO headrace.run_word_progress DEFAULT VALUES;
