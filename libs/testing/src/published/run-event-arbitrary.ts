import fc from 'fast-check';
import { CONVERSATION_KINDS, LIFECYCLE_KINDS, type RunEvent } from '#execution/runner-protocol';

/** Few ids, so that random events meet: also ids that plain objects treat specially. */
const id = fc.constantFrom('a', 'b', 'c', 'd', '__proto__', 'constructor', '');
const oddly = <T>(usual: fc.Arbitrary<T>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 8, arbitrary: usual }, { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) });
const path = fc.constantFrom('src/a.ts', '/w/.agents/skills/pdf/SKILL.md', '__proto__', '');

const content = fc.record(
  {
    type: oddly(fc.constantFrom('text', 'diff', 'terminal', 'resource')),
    text: oddly(fc.string({ unit: 'grapheme' })),
    path: oddly(path),
    old_text: oddly(fc.option(fc.string())),
    new_text: oddly(fc.string()),
    // Not fc.webUrl(), which needs more than a second of processor time before its first value.
    uri: oddly(fc.string().map((name) => `https://example.com/${encodeURIComponent(name)}`)),
    size_bytes: oddly(fc.nat()),
  },
  { requiredKeys: ['type'] },
);

const data = fc.record(
  {
    turn_id: oddly(id),
    prompt: oddly(fc.string()),
    message_id: oddly(id),
    text: oddly(fc.string()),
    tool_call_id: oddly(id),
    parent_tool_call_id: oddly(id),
    tool_name: oddly(fc.constantFrom('Bash', 'Skill', 'Task', 'mcp__x__y', 'constructor', null)),
    title: oddly(fc.option(fc.string())),
    tool_kind: oddly(fc.constantFrom('read', 'edit', 'delete', 'move', 'search', 'execute', 'think', 'fetch', 'other')),
    status: oddly(fc.constantFrom('pending', 'in_progress', 'completed', 'failed')),
    denied: oddly(fc.boolean()),
    input: oddly(fc.record({ command: oddly(fc.string()), path: oddly(path) }, { requiredKeys: [] })),
    output: fc.jsonValue(),
    content: oddly(fc.array(oddly(content), { maxLength: 4 })),
    locations: oddly(fc.array(oddly(fc.record({ path: oddly(path) })), { maxLength: 3 })),
    entries: oddly(fc.array(oddly(fc.record({ content: fc.string(), status: fc.string() })), { maxLength: 3 })),
    approval_id: oddly(id),
    decision: oddly(fc.constantFrom('allow', 'deny')),
    stop_reason: oddly(fc.constantFrom('end_turn', 'cancelled', 'refusal', 'error')),
  },
  { requiredKeys: [] },
);

const event = fc.record({
  // Turns and tool calls more often than the rest: they are what the others refer to.
  kind: fc.constantFrom(
    ...CONVERSATION_KINDS,
    ...LIFECYCLE_KINDS,
    'turn_started',
    'tool_call',
    'tool_call',
    'turn_ended',
  ),
  execution_id: fc.constantFrom('1', '1', '2', null),
  data,
});

/** A log in which anything may follow anything: unknown ids, updates before creation, turns that never started. */
export const anyRunLog: fc.Arbitrary<RunEvent[]> = fc.array(event, { maxLength: 60 }).map((events) =>
  events.map(({ kind, execution_id, data: fields }, index) => ({
    run_id: '01900000-0000-7000-8000-000000000001',
    seq: index + 1,
    execution_id,
    kind,
    at: new Date(Date.UTC(2026, 0, 1, 0, 0, index)),
    // As the log gives it back: JSON has no -0.
    data: JSON.parse(JSON.stringify(fields)) as Record<string, unknown>,
  })),
);
