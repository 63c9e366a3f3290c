import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What lists are read from. Every order that a list may have is an index led by the owner, so that a page costs a page
 * whatever the table holds. All else that may be asked for stands aside in `run_facets`: written once with the run and
 * never again, because an index on `runs` itself is written anew with every change of a run's state.
 */
export class Runs1700000003003 implements MigrationInterface {
  name = 'Runs1700000003003';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE EXTENSION IF NOT EXISTS btree_gin;`);
    const [found] = (await queryRunner.query(COLLATION)) as { collname: string }[];
    const collate = found ? `COLLATE pg_catalog."${found.collname}"` : '';
    await queryRunner.query(foldFunction(collate));
    await queryRunner.query(FUNCTIONS);
    await queryRunner.query(table(collate));
    await queryRunner.query(`
INSERT INTO headrace.run_facets (run_id, slot_key, tokens, search)
SELECT r.id, r.slot_key,
       headrace.run_tokens(r.slot_key, r.creator_uid, r.executor_uid, r.source, r.execution_location, r.config, r.schedule, r.metadata, r.ancestor_run_ids),
       headrace.run_search_text(r.title, r.prompt, r.config->>'skill_spec')
  FROM headrace.runs r;`);
    await queryRunner.query(INDEXES);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    // The extensions stay: somebody else may use them.
    await queryRunner.query(`
DROP INDEX headrace.ix_runs__updated, headrace.ix_runs__created, headrace.ix_runs__title, headrace.ix_runs__agent, headrace.ix_runs__state;
CREATE INDEX ix_runs__team_created ON headrace.runs (team_uid, created_at, id) WHERE team_uid IS NOT NULL;
CREATE INDEX ix_runs__team_updated ON headrace.runs (team_uid, updated_at, id) WHERE team_uid IS NOT NULL;
CREATE INDEX ix_runs__owner_updated ON headrace.runs (owner_user_uid, updated_at, id) WHERE owner_user_uid IS NOT NULL;
DROP TABLE headrace.run_facets;
DROP FUNCTION headrace.run_tokens(text, text, text, text, text, jsonb, jsonb, jsonb, uuid[]),
  headrace.run_token(text, text, text), headrace.run_search_text(text, text, text), headrace.search_fold(text);`);
  }
}

/**
 * A collation that knows the letters of all languages, whatever the database's own locale: in locale C only ASCII has
 * upper and lower case, in a Turkish one "I" is not the "i" of "id". PostgreSQL 17 brings the first one, builds with ICU
 * the other. Without either the database's own has to do.
 */
const COLLATION = `
SELECT collname FROM pg_collation
 WHERE collnamespace = 'pg_catalog'::regnamespace AND collname IN ('pg_c_utf8', 'und-x-icu')
   AND collencoding IN (-1, pg_char_to_encoding(getdatabaseencoding()))
 ORDER BY collname LIMIT 1`;

/**
 * What text and words of a search have in common whatever their case. Both go through this function, so that no two
 * notions of lower case meet. Beyond it: a final sigma is a sigma, "ß" is "ss" (as in capitals), and Turkish "ı" and "İ"
 * are "i", because nobody can tell in which language a capital "I" was meant.
 */
const foldFunction = (collate: string): string => `
CREATE FUNCTION headrace.search_fold(p_text text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT replace(translate(replace(lower(p_text ${collate}), 'i\u0307', 'i'), 'ςı', 'σi'), 'ß', 'ss')
$$;
`;

/**
 * A token says "a run of this owner has this value"; the owner is part of it, so that a probe meets nobody else's runs.
 * Tokens are hashes: whoever finds a run by one still compares the value.
 */
const FUNCTIONS = `
CREATE FUNCTION headrace.run_token(p_slot_key text, p_kind text, p_value text) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT hashtextextended(p_slot_key || chr(31) || p_kind || chr(31) || p_value, 0)
$$;

CREATE FUNCTION headrace.run_tokens(p_slot_key text, p_creator text, p_executor text, p_source text, p_location text,
  p_config jsonb, p_schedule jsonb, p_metadata jsonb, p_ancestors uuid[]) RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE v_tokens bigint[]; v_key text; v_value text; v_ancestor uuid;
BEGIN
  v_tokens := array_remove(ARRAY[
    headrace.run_token(p_slot_key, 'creator', p_creator),
    headrace.run_token(p_slot_key, 'executor', p_executor),
    headrace.run_token(p_slot_key, 'source', p_source),
    headrace.run_token(p_slot_key, 'execution_location', p_location),
    headrace.run_token(p_slot_key, 'name', p_config->>'name'),
    headrace.run_token(p_slot_key, 'model_id', p_config->>'model_id'),
    headrace.run_token(p_slot_key, 'model_id', p_config->'harness'->>'model_id'),
    headrace.run_token(p_slot_key, 'environment_id', coalesce(p_config->>'environment_id', 'empty-environment')),
    headrace.run_token(p_slot_key, 'skill_spec', p_config->>'skill_spec'),
    headrace.run_token(p_slot_key, 'schedule_id', p_schedule->>'schedule_id')], NULL);
  FOREACH v_ancestor IN ARRAY coalesce(p_ancestors, '{}') LOOP
    v_tokens := v_tokens || headrace.run_token(p_slot_key, 'ancestor_run_id', v_ancestor::text);
  END LOOP;
  IF jsonb_typeof(p_metadata) = 'object' THEN
    FOR v_key, v_value IN SELECT key, value FROM jsonb_each_text(p_metadata) LOOP
      v_tokens := v_tokens || headrace.run_token(p_slot_key, 'metadata ' || v_key, v_value);
    END LOOP;
  END IF;
  RETURN v_tokens;
END $$;

CREATE FUNCTION headrace.run_search_text(p_title text, p_prompt text, p_skill_spec text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT headrace.search_fold(p_title || chr(10) || coalesce(p_skill_spec, '') || chr(10) || left(p_prompt, 4096))
$$;
`;

/** The text is compared, and its letters are told from other signs, by the collation that it was folded with. */
const table = (collate: string): string => `
CREATE TABLE headrace.run_facets (
  run_id uuid PRIMARY KEY,
  slot_key text NOT NULL,
  tokens bigint[] NOT NULL,
  search text ${collate} NOT NULL
);
`;

/** Titles are ordered without regard to case. Skill specs may be longer than an index entry: 500 characters order them. */
const INDEXES = `
CREATE INDEX ix_run_facets__tokens ON headrace.run_facets USING gin (tokens) WITH (gin_pending_list_limit = 1024);
CREATE INDEX ix_run_facets__search ON headrace.run_facets USING gin (slot_key, search gin_trgm_ops) WITH (gin_pending_list_limit = 1024);
CREATE INDEX ix_runs__updated ON headrace.runs (slot_key, updated_at, id);
CREATE INDEX ix_runs__created ON headrace.runs (slot_key, created_at, id);
CREATE INDEX ix_runs__title ON headrace.runs (slot_key, (lower(title) COLLATE "C"), id);
CREATE INDEX ix_runs__agent ON headrace.runs (slot_key, (left(skill_spec, 500) COLLATE "C"), id);
CREATE INDEX ix_runs__state ON headrace.runs (slot_key, state, updated_at, id);
DROP INDEX headrace.ix_runs__team_created, headrace.ix_runs__team_updated, headrace.ix_runs__owner_updated;
`;
