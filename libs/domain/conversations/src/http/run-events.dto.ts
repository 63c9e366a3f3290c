import { StringField } from '#platform/http';

export class RunEventsParameters {
  @StringField({
    optional: true,
    max: 512,
    description:
      'Id of the last event received, for clients that cannot set the `Last-Event-ID` header. The header wins.',
  })
  last_event_id?: string;
}

/** What the document says about the stream; `docs/live-events.md` says it at length. */
export const STREAM_DESCRIPTION = `Server-sent events; nobody needs to poll. First the current state and everything so far, then what happens.
Every event has an \`id\`; sent back as \`Last-Event-ID\` (or \`last_event_id\`) to any process of the installation, the stream goes on behind it.

- \`state\`: \`{run_id, state, status_message?, updated_at}\`, at the beginning and at each change.
- \`timeline\`: a \`RunTimelineEvent\`; each once.
- \`conversation\`: \`{conversation_id, path, step, message_index?, message?}\`. Put \`step\` at \`path\` (indexes into \`steps\`, level by level), \`message\` at \`message_index\`, replacing what is there; drop messages beyond \`step.message_count\`.
- \`end\`: \`{run_id, reason}\` with \`run_ended\`, \`run_deleted\` or \`access_ended\`; the stream closes. A follow-up may continue an ended run: connect again.

A stream that closes without \`end\` is to be resumed. A comment comes every 15 seconds when nothing happens.`;
