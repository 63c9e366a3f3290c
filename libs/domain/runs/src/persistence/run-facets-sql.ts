/** The columns of `run_facets` for `row`, an alias with the columns of `runs`. What they are for stands in the room's README. */
export const facetsOf = (row: string): string => `${row}.id, ${row}.slot_key,
  headrace.run_tokens(${row}.slot_key, ${row}.creator_uid, ${row}.executor_uid, ${row}.source, ${row}.execution_location, ${row}.config, ${row}.schedule, ${row}.metadata, ${row}.ancestor_run_ids)
    || coalesce((SELECT array_agg(headrace.run_token(${row}.slot_key, 'skill_spec', s)) FROM jsonb_array_elements_text(${row}.agent_skill->'specs') AS s), '{}'),
  headrace.run_search_text(${row}.title, ${row}.prompt, ${row}.config->>'skill_spec')`;
