-- The text that a search of runs (`q`) compares.
CREATE OR REPLACE FUNCTION headrace.run_search_text(p_title text, p_prompt text, p_skill_spec text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT headrace.search_fold(p_title || chr(10) || coalesce(p_skill_spec, '') || chr(10) || left(p_prompt, 4096))
$$;
