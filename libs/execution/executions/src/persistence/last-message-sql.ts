/** The last message is looked for in so many events at the end of the log, whatever else a runner has reported. */
const MAX_EVENTS = 2_000;

/**
 * The text of the last message of an agent, as a scalar in SQL; null without one. `run`, `seq`: the id of the run and a position of its
 * log; `max`: characters. Other events may be between the chunks of a message.
 */
export const lastMessage = (run: string, seq: string, max: string): string => `(
  WITH last AS (
    SELECT e.seq, e.data->>'message_id' AS id FROM run_events e
     WHERE e.run_id = ${run} AND e.seq <= ${seq} AND e.seq > ${seq} - ${MAX_EVENTS}
       AND e.kind = 'message_chunk' AND e.data->>'parent_tool_call_id' IS NULL
     ORDER BY e.seq DESC LIMIT 1
  )
  SELECT left(string_agg(e.data->>'text', '' ORDER BY e.seq), ${max}) FROM run_events e, last
   WHERE e.run_id = ${run} AND e.seq <= last.seq AND e.seq > ${seq} - ${MAX_EVENTS} AND e.kind = 'message_chunk' AND e.data->>'message_id' = last.id)`;
