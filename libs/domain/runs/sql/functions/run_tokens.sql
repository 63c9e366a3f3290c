-- The tokens of all values that a run can be filtered by.
CREATE OR REPLACE FUNCTION headrace.run_tokens(p_slot_key text, p_creator text, p_executor text, p_source text,
  p_location text, p_config jsonb, p_schedule jsonb, p_metadata jsonb, p_ancestors uuid[]) RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  v_tokens bigint[];
  v_key text;
  v_value text;
  v_ancestor uuid;
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
    headrace.run_token(p_slot_key, 'worker_host', p_config->>'worker_host'),
    headrace.run_token(p_slot_key, 'skill_spec', p_config->>'skill_spec'),
    headrace.run_token(p_slot_key, 'schedule_id', p_schedule->>'schedule_id'),
    CASE WHEN p_metadata ? 'factory_uid' THEN headrace.run_token(p_slot_key, 'factory_only', 'true') END], NULL);
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
