import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { isStorableText } from '#platform/kernel';
import type { PlainEvent } from '../protocol/outgoing-events.js';
import { AcpNormalizer } from './normalizer.js';

function normalizer(): AcpNormalizer {
  let count = 0;
  return new AcpNormalizer(() => `minted-${(count += 1)}`);
}
const all = (subject: AcpNormalizer, updates: object[]): PlainEvent[] =>
  updates.flatMap((update) => subject.update(update));
const say = (text: string, more: object = {}) => ({
  sessionUpdate: 'agent_message_chunk',
  content: { type: 'text', text },
  ...more,
});
const think = (text: string) => ({ sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text } });
const call = (toolCallId: string, more: object = {}) => ({ sessionUpdate: 'tool_call', toolCallId, ...more });
const update = (toolCallId: string, more: object = {}) => ({ sessionUpdate: 'tool_call_update', toolCallId, ...more });

describe('messages', () => {
  it('get one id a message where the agent sends none: a new one after another kind of chunk or a tool call', () => {
    const events = all(normalizer(), [say('a'), say('b'), think('c'), say('d'), call('t'), say('e')]);
    const ids = events.flatMap(({ data }) => data['message_id'] ?? []);
    expect(ids).toEqual(['minted-1', 'minted-1', 'minted-2', 'minted-3', 'minted-4']);
  });

  it('keep the agent’s id, and start a new message in every turn', () => {
    const subject = normalizer();
    expect(all(subject, [say('a', { messageId: 'm1' }), say('b')]).map(({ data }) => data['message_id'])).toEqual([
      'm1',
      'm1',
    ]);
    subject.startTurn();
    expect(subject.update(say('c'))[0]?.data).toEqual({ message_id: 'minted-1', text: 'c' });
  });

  it('carry no bytes: images and files are named', () => {
    const image = {
      sessionUpdate: 'agent_message_chunk',
      content: { type: 'image', mimeType: 'image/png', data: 'AAAA' },
    };
    const link = {
      sessionUpdate: 'agent_message_chunk',
      content: { type: 'resource_link', name: 'x', uri: 'file:///x' },
    };
    expect(all(normalizer(), [image, link]).map(({ data }) => data['text'])).toEqual([
      '[image, image/png, 3 bytes]',
      '[resource_link, file:///x]',
    ]);
  });

  it('are made storable', () => {
    const [event] = normalizer().update(say('a\0b\ud800'));
    expect(event?.data['text']).toBe('a\ufffdb\ufffd');
  });

  it('ignore messages of the user and unknown kinds', () => {
    const updates = [
      { sessionUpdate: 'user_message_chunk', content: { type: 'text', text: 'x' } },
      { sessionUpdate: 'available_commands_update' },
      { sessionUpdate: 'news' },
      null,
      'x',
      { sessionUpdate: 'agent_message_chunk' },
    ];
    expect(updates.flatMap((entry) => normalizer().update(entry))).toEqual([]);
  });
});

describe('tool calls', () => {
  it('are upserts: only what an update says is in its event', () => {
    const events = all(normalizer(), [
      call('t', {
        name: 'exec',
        title: 'ls',
        kind: 'execute',
        status: 'pending',
        rawInput: { command: 'ls' },
        locations: [{ path: 'a', line: 3 }, {}],
      }),
      update('t', { status: 'in_progress' }),
      update('t', { status: 'nonsense', kind: 'strange', title: null }),
      update('t', { content: null, status: 'completed', rawOutput: 'x' }),
    ]);
    expect(events.map(({ data }) => data)).toEqual([
      {
        tool_call_id: 't',
        tool_name: 'exec',
        title: 'ls',
        tool_kind: 'execute',
        status: 'pending',
        input: { command: 'ls' },
        locations: [{ path: 'a', line: 3 }],
      },
      { tool_call_id: 't', status: 'in_progress' },
      { tool_call_id: 't', content: null, status: 'completed', output: 'x' },
    ]);
  });

  it('drop calls without an id', () => {
    expect(normalizer().update({ sessionUpdate: 'tool_call', title: 'x' })).toEqual([]);
  });

  it('contain text, diffs and a summary of other content', () => {
    const content = [
      { type: 'content', content: { type: 'text', text: 'hi' } },
      { type: 'diff', path: 'a.txt', newText: 'new' },
      { type: 'content', content: { type: 'image', mimeType: 'image/png', data: 'A'.repeat(4000) } },
      {
        type: 'content',
        content: { type: 'resource', resource: { uri: 'file:///b', mimeType: 'application/pdf', blob: 'AAAA' } },
      },
      { type: 'content', content: { type: 'resource', resource: { uri: 'file:///c', text: 'inline' } } },
      { type: 'hologram' },
    ];
    expect(normalizer().update(update('t', { content }))[0]?.data['content']).toEqual([
      { type: 'text', text: 'hi' },
      { type: 'diff', path: 'a.txt', old_text: null, new_text: 'new' },
      { type: 'resource', mime_type: 'image/png', size_bytes: 3000 },
      { type: 'resource', uri: 'file:///b', mime_type: 'application/pdf', size_bytes: 3 },
      { type: 'text', text: 'inline' },
    ]);
  });

  it('cut long text in its middle and long input and output as a whole', () => {
    const long = `begin${'ä'.repeat(60_000)}end`;
    const [event] = normalizer().update(
      update('t', {
        content: [{ type: 'content', content: { type: 'text', text: long } }],
        rawOutput: { log: long, image: { type: 'image', mimeType: 'image/png', data: 'A'.repeat(400_000) } },
      }),
    );
    const [shown] = event?.data['content'] as { text: string }[];
    expect(shown?.text).toMatch(/^begin[\s\S]*bytes left out[\s\S]*end$/);
    expect(Buffer.byteLength(shown?.text ?? '')).toBeLessThan(33_000);
    expect(isStorableText(shown?.text ?? '')).toBe(true);
    expect(Buffer.byteLength(JSON.stringify(event?.data['output']))).toBeLessThanOrEqual(65_536);
    expect(event?.data['output']).toMatchObject({
      image: { type: 'resource', mime_type: 'image/png', size_bytes: 300_000 },
    });
  });

  it('accept deeply nested input', () => {
    const deep = JSON.parse(`${'['.repeat(50_000)}${']'.repeat(50_000)}`) as unknown;
    expect(JSON.stringify(normalizer().update(call('t', { rawInput: deep }))).length).toBeLessThan(1_000);
  });

  it('get their parent from _meta of vendors', () => {
    const events = all(normalizer(), [
      call('a', { _meta: { claudeCode: { toolName: 'Read', parentToolUseId: 'task-1' } } }),
      call('b', { _meta: { parentToolCallId: 'task-2' } }),
      say('from below', { _meta: { claudeCode: { parentToolUseId: 'task-1' } } }),
      call('c', { _meta: { claudeCode: { parentToolUseId: null } } }),
    ]);
    expect(events.map(({ data }) => data['parent_tool_call_id'])).toEqual(['task-1', 'task-2', 'task-1', undefined]);
    expect(events[0]?.data['tool_name']).toBe('Read');
  });

  it('get the output of a command from the metadata of Codex', () => {
    const events = all(normalizer(), [
      call('t', {
        status: 'in_progress',
        content: [{ type: 'terminal', terminalId: 't' }],
        rawInput: { command: 'make' },
      }),
      update('t', { _meta: { terminal_output_delta: { data: 'one\n', terminal_id: 't' } } }),
      update('t', {
        status: 'completed',
        _meta: { terminal_output_delta: { data: 'two\n' }, terminal_exit: { exit_code: 2, signal: null } },
      }),
    ]);
    expect(events[0]?.data['content']).toEqual([{ type: 'terminal', text: '' }]);
    expect(events[1]?.data).toEqual({ tool_call_id: 't', content: [{ type: 'terminal', text: 'one\n' }] });
    expect(events[2]?.data).toMatchObject({
      content: [{ type: 'terminal', text: 'one\ntwo\n' }],
      output: { output: 'one\ntwo\n', exit_code: 2 },
    });
  });

  it('are closed with the turn, a denied one as denied', () => {
    const subject = normalizer();
    all(subject, [call('a', { status: 'pending' }), call('b', { status: 'completed' }), call('c')]);
    expect(subject.hasOpenCalls).toBe(true);
    subject.markDenied('c');
    expect(subject.closeOpenCalls('completed').map(({ data }) => data)).toEqual([
      { tool_call_id: 'a', status: 'completed' },
      { tool_call_id: 'c', status: 'failed', denied: true },
    ]);
    expect(subject.closeOpenCalls('failed')).toEqual([]);
  });

  it('do not count as open when they were denied: some agents never report their end', () => {
    const subject = normalizer();
    all(subject, [call('a', { status: 'pending' })]);
    expect(subject.hasOpenCalls).toBe(true);
    subject.markDenied('a');
    expect(subject.hasOpenCalls).toBe(false);
  });

  it('fail as denied after a denied permission', () => {
    const subject = normalizer();
    subject.update(call('a', { status: 'pending' }));
    subject.markDenied('a');
    expect(subject.update(update('a', { status: 'failed' }))[0]?.data).toEqual({
      tool_call_id: 'a',
      status: 'failed',
      denied: true,
    });
  });

  it('are completed, but not renamed, by a permission request', () => {
    const subject = normalizer();
    expect(
      subject.permissionCall({ toolCallId: 'new', title: 'May I?', rawInput: { command: 'ls' } })[0]?.data,
    ).toEqual({ tool_call_id: 'new', title: 'May I?', input: { command: 'ls' } });
    subject.update(call('t', { title: 'ls' }));
    expect(subject.permissionCall({ toolCallId: 't', title: 'May I?', kind: 'execute' })[0]?.data).toEqual({
      tool_call_id: 't',
      tool_kind: 'execute',
    });
    expect(subject.permissionCall({ toolCallId: 't', title: 'May I?' })).toEqual([]);
  });
});

describe('a turn’s usage', () => {
  it('consists of the counts of its response and the increase of the cost', () => {
    const subject = normalizer();
    subject.replayed({ sessionUpdate: 'usage_update', used: 1, size: 2, cost: { amount: 0.5, currency: 'USD' } });
    subject.startTurn();
    expect(
      subject.update({ sessionUpdate: 'usage_update', used: 1, size: 2, cost: { amount: 0.75, currency: 'USD' } }),
    ).toEqual([]);
    expect(
      subject.turnUsage({ stopReason: 'end_turn', usage: { inputTokens: 10, outputTokens: 2, totalTokens: 12 } }),
    ).toEqual([{ kind: 'usage', data: { input_tokens: 10, output_tokens: 2, total_tokens: 12, cost_usd: 0.25 } }]);
  });

  const answer = (inputTokens: number, outputTokens: number) => ({
    usage: { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens },
  });
  const cost = (amount: number) => ({
    sessionUpdate: 'usage_update',
    used: 1,
    size: 2,
    cost: { amount, currency: 'USD' },
  });
  function turn(subject: AcpNormalizer, amount: number, response: object): unknown {
    subject.startTurn();
    subject.update(cost(amount));
    return subject.turnUsage(response)[0]?.data;
  }

  it('reports the cost during the turn on request, and counts it once', () => {
    const subject = new AcpNormalizer();
    subject.startTurn(true);
    expect(subject.update(cost(0.5))).toEqual([{ kind: 'usage', data: { cost_usd: 0.5 } }]);
    expect(subject.update(cost(0.5))).toEqual([]);
    expect(subject.update(cost(0.75))).toEqual([{ kind: 'usage', data: { cost_usd: 0.25 } }]);
    expect(subject.turnUsage(answer(10, 2))).toEqual([
      { kind: 'usage', data: { input_tokens: 10, output_tokens: 2, total_tokens: 12, cost_usd: 0 } },
    ]);
    subject.startTurn(true);
    expect(subject.update(cost(1))).toEqual([{ kind: 'usage', data: { cost_usd: 0.25 } }]);
  });

  it('counts tokens for the turn, also increasing ones, and the cost for the session', () => {
    const subject = normalizer();
    subject.startSession('turn', false);
    expect(turn(subject, 0.5, answer(100, 20))).toEqual({
      ...{ input_tokens: 100, output_tokens: 20, total_tokens: 120 },
      cost_usd: 0.5,
    });
    expect(turn(subject, 0.75, answer(130, 20))).toEqual({
      ...{ input_tokens: 130, output_tokens: 20, total_tokens: 150 },
      cost_usd: 0.25,
    });
    // Corrected downwards.
    expect(turn(subject, 0.5, answer(1, 1))).toMatchObject({ cost_usd: 0 });
  });

  it('is the difference of counts of the session, never negative', () => {
    const subject = normalizer();
    subject.startSession('session', false);
    expect(turn(subject, 0, answer(100, 20))).toMatchObject({
      input_tokens: 100,
      output_tokens: 20,
      total_tokens: 120,
    });
    expect(turn(subject, 0, answer(230, 50))).toMatchObject({
      input_tokens: 130,
      output_tokens: 30,
      total_tokens: 160,
    });
    expect(turn(subject, 0, answer(200, 60))).toMatchObject({ input_tokens: 0, output_tokens: 10, total_tokens: 0 });
    expect(turn(subject, 0, {})).toEqual({ cost_usd: 0 });
  });

  it('counts earlier turns of a resumed session only once', () => {
    const subject = normalizer();
    subject.startSession('session', true);
    expect(turn(subject, 0, answer(1000, 200))).toEqual({ cost_usd: 0 });
    expect(turn(subject, 0, answer(1100, 210))).toMatchObject({ input_tokens: 100, output_tokens: 10 });
  });

  it('is read from the metadata of Gemini, and is empty when it is missing', () => {
    const response = {
      stopReason: 'end_turn',
      _meta: { quota: { token_count: { input_tokens: 7, output_tokens: 1 } } },
    };
    expect(normalizer().turnUsage(response)[0]?.data).toEqual({ input_tokens: 7, output_tokens: 1, total_tokens: 8 });
    expect(normalizer().turnUsage({ stopReason: 'end_turn' })).toEqual([]);
  });
});

it('replaces plans and reports changes of the mode', () => {
  const entries = [
    { content: 'a', status: 'completed', priority: 'high' },
    { content: 'b', status: 'soon' },
  ];
  expect(
    all(normalizer(), [
      { sessionUpdate: 'plan', entries },
      { sessionUpdate: 'current_mode_update', currentModeId: 'plan' },
    ]),
  ).toEqual([
    {
      kind: 'plan',
      data: {
        entries: [
          { content: 'a', status: 'completed', priority: 'high' },
          { content: 'b', status: 'pending' },
        ],
      },
    },
    { kind: 'mode_changed', data: { mode: 'plan' } },
  ]);
});

it('converts a recorded session of the built-in agent to events', () => {
  const lines = readFileSync(new URL('./recordings/oz.jsonl', import.meta.url), 'utf8')
    .trim()
    .split('\n');
  const messages = lines.map(
    (line) => JSON.parse(line) as { method?: string; params?: { update?: object; toolCall?: { toolCallId: string } } },
  );
  const subject = normalizer();
  const events = messages.flatMap(({ method, params }) => {
    if (method === 'session/request_permission') {
      const events = subject.permissionCall(params?.toolCall);
      subject.markDenied(params?.toolCall?.toolCallId ?? '');
      return events;
    }
    return method === 'session/update' ? subject.update(params?.update) : [];
  });
  const calls = new Map<unknown, Record<string, unknown>>();
  for (const { kind, data } of events)
    if (kind === 'tool_call') calls.set(data['tool_call_id'], { ...calls.get(data['tool_call_id']), ...data });
  expect([...calls.values()]).toMatchObject([
    {
      tool_name: 'write_file',
      tool_kind: 'edit',
      status: 'completed',
      content: [{ type: 'diff', path: 'a.txt', old_text: null, new_text: 'hello\n' }],
    },
    {
      tool_name: 'shell',
      tool_kind: 'execute',
      status: 'failed',
      input: { command: 'cat a.txt; exit 3' },
      output: { exit_code: 3, output: 'hello\n' },
    },
    { tool_name: 'delete_file', title: 'Delete a.txt', status: 'failed', denied: true },
  ]);
  expect(events.filter(({ kind }) => kind === 'thought_chunk')).toHaveLength(1);
  expect(events.findLast(({ kind }) => kind === 'plan')?.data).toMatchObject({
    entries: [{ status: 'completed' }, { status: 'completed' }],
  });
  expect(subject.closeOpenCalls('completed')).toEqual([]);
});
