import { describe, expect, it } from 'vitest';
import type { ToolCall } from '#execution/runner-protocol';
import { RunLogBuilder } from '#testing';
import type { Block } from './conversation.js';
import { projectConversation } from '#testing';

/** Action and result of one call, as a client sees them. */
function shown(...upserts: Omit<ToolCall, 'tool_call_id'>[]): Extract<Block, { type: 'action' | 'action_result' }>[] {
  const log = new RunLogBuilder().turn('t', 'go');
  for (const upsert of upserts) log.tool({ tool_call_id: 'c', ...upsert });
  const blocks = projectConversation('c', log.events).steps.flatMap((step) =>
    step.messages.flatMap((message) => message.content),
  );
  return blocks.filter((block) => block.type === 'action' || block.type === 'action_result');
}
const action = (call: Omit<ToolCall, 'tool_call_id'>) => {
  const block = shown(call)[0];
  return block?.type === 'action' ? [block.name, block.category, block.input] : [];
};
const result = (...upserts: Omit<ToolCall, 'tool_call_id'>[]) => {
  const block = shown(...upserts)[1];
  return block?.type === 'action_result' ? [block.state, block.output] : [];
};

describe('names, categories and inputs of actions', () => {
  it.each<[string, Omit<ToolCall, 'tool_call_id'>, string, string, object]>([
    [
      'a command',
      { tool_kind: 'execute', input: { command: 'ls', cwd: '/w' } },
      'run_command',
      'command',
      { command: 'ls', cwd: '/w' },
    ],
    [
      'a command as words',
      { tool_kind: 'execute', input: { command: ['bash', '-lc', 'ls -a'] } },
      'run_command',
      'command',
      { command: 'ls -a' },
    ],
    [
      'a command known by its title only',
      { tool_kind: 'execute', title: '`ls`' },
      'run_command',
      'command',
      { command: 'ls' },
    ],
    [
      'a command known by its tool only',
      { tool_name: 'Bash', input: { command: 'ls' } },
      'run_command',
      'command',
      { command: 'ls' },
    ],
    [
      'a read',
      { tool_kind: 'read', input: { file_path: 'a.ts' }, locations: [{ path: 'a.ts' }, { path: 'b.ts' }] },
      'read_files',
      'files',
      { paths: ['a.ts', 'b.ts'] },
    ],
    [
      'an edit without a diff',
      { tool_kind: 'edit', input: { path: 'a', old_string: 'x', new_string: '' } },
      'edit_files',
      'files',
      { paths: ['a'], diffs: [{ path: 'a', old_text: 'x', new_text: '' }] },
    ],
    [
      'a deletion',
      { tool_kind: 'delete', input: { path: 'a' } },
      'edit_files',
      'files',
      { paths: ['a'], diffs: [], operation: 'delete' },
    ],
    [
      'a move',
      { tool_kind: 'move', input: { source: 'a', destination: 'b' } },
      'edit_files',
      'files',
      { paths: ['a', 'b'], diffs: [], operation: 'move' },
    ],
    [
      'a search',
      { tool_kind: 'search', input: { pattern: 'x+', path: 'src' } },
      'search_files',
      'search',
      { query: 'x+', path: 'src' },
    ],
    [
      'a fetch',
      { tool_kind: 'fetch', input: { url: 'https://example.org' } },
      'fetch_url',
      'search',
      { url: 'https://example.org' },
    ],
    [
      'a fetch known by its title only',
      { tool_kind: 'fetch', title: 'Fetch "https://example.org/a"' },
      'fetch_url',
      'search',
      { url: 'https://example.org/a' },
    ],
    [
      'an MCP tool',
      { tool_name: 'mcp__tickets__get_issue', tool_kind: 'read', input: { id: 1, api_key: 'k' } },
      'call_mcp_tool',
      'integration',
      { server: 'tickets', tool: 'get_issue', arguments: { id: 1, api_key: '***' } },
    ],
    [
      'a delegation',
      { tool_name: 'Task', tool_kind: 'think', input: { description: 'd', prompt: 'p', subagent_type: 's' } },
      'start_agent',
      'integration',
      { description: 'd', prompt: 'p', agent_type: 's' },
    ],
    [
      'a skill by name',
      { tool_name: 'Skill', input: { skill: 'pdf' } },
      'read_skill',
      'skill',
      { bundled_skill_id: 'pdf' },
    ],
    [
      'a skill by path',
      { tool_name: 'activate_skill', input: { skill: 'x/pdf/SKILL.md' } },
      'read_skill',
      'skill',
      { skill_path: 'x/pdf/SKILL.md' },
    ],
    [
      'a skill’s file',
      { tool_kind: 'read', locations: [{ path: '/w/.agents/skills/pdf/SKILL.md' }] },
      'read_skill',
      'skill',
      { skill_path: '/w/.agents/skills/pdf/SKILL.md' },
    ],
    [
      'anything else',
      { tool_name: 'Odd', title: 'Odd thing', tool_kind: 'other', input: { a: 1 } },
      'other',
      'integration',
      { tool_name: 'Odd', title: 'Odd thing', arguments: { a: 1 } },
    ],
    [
      'a tool named like an object’s own',
      { tool_name: 'constructor' },
      'other',
      'integration',
      { tool_name: 'constructor' },
    ],
    ['nothing known', {}, 'other', 'integration', {}],
  ])('%s', (_what, call, name, category, input) => {
    expect(action(call)).toEqual([name, category, input]);
  });

  it('truncates a diff, and marks it', () => {
    const long = 'line\n'.repeat(20_000);
    const block = shown({
      tool_kind: 'edit',
      content: [{ type: 'diff', path: 'a', old_text: null, new_text: long }],
    })[0];
    const [diff] = (block?.type === 'action' ? block.input.diffs : []) as { new_text: string; truncated?: boolean }[];
    expect(diff).toMatchObject({ path: 'a', truncated: true });
    expect(diff).not.toHaveProperty('old_text');
    expect(diff?.new_text.length).toBeLessThan(17_000);
  });
});

describe('states and outputs of results', () => {
  const run = { tool_kind: 'execute', input: { command: 'x' } } as const;

  it.each<[string, Omit<ToolCall, 'tool_call_id'>[], string, object]>([
    ['pending', [{ ...run, status: 'pending' }], 'running', { output: '' }],
    [
      'running, with output so far',
      [{ ...run, status: 'in_progress', content: [{ type: 'terminal', text: 'a\n' }] }],
      'running',
      { output: 'a\n' },
    ],
    ['plain text', [run, { status: 'completed', output: 'hi' }], 'completed', { output: 'hi' }],
    [
      'fenced by the agent',
      [run, { status: 'completed', content: [{ type: 'text', text: '```console\nhi\n```' }] }],
      'completed',
      { output: 'hi' },
    ],
    [
      'stdout and stderr',
      [run, { status: 'failed', output: { stdout: 'a', stderr: 'b', exit_code: 2 } }],
      'failed',
      { output: 'a\nb', exit_code: 2 },
    ],
    [
      'an exit code in the metadata',
      [run, { status: 'completed', output: { output: 'a', metadata: { exit: 0 } } }],
      'completed',
      { output: 'a', exit_code: 0 },
    ],
    [
      'an exit code in the contents',
      [run, { status: 'completed', output: { content: 'a', contents: [{ exitCode: 1 }] } }],
      'failed',
      { output: 'a', exit_code: 1 },
    ],
    ['denied', [run, { status: 'failed', denied: true }], 'denied', { output: '' }],
    ['no shell, no text', [{ tool_kind: 'read', status: 'completed', locations: [{ path: 'a' }] }], 'completed', {}],
    [
      'an answer in MCP content',
      [
        {
          tool_name: 'mcp__a__b',
          status: 'completed',
          output: {
            content: [
              { type: 'text', text: 'x' },
              { type: 'image', data: 'A'.repeat(300) },
            ],
          },
        },
      ],
      'completed',
      { output: 'x', truncated: true },
    ],
    [
      'an answer that is no text',
      [{ tool_name: 'mcp__a__b', status: 'completed', output: { rows: [1, 2] } }],
      'completed',
      { data: { rows: [1, 2] } },
    ],
    [
      'a resource',
      [
        {
          status: 'completed',
          content: [{ type: 'resource', uri: 'file:///a.png', mime_type: 'image/png', size_bytes: 9 }],
        },
      ],
      'completed',
      { resources: [{ uri: 'file:///a.png', mime_type: 'image/png', size_bytes: 9 }] },
    ],
    [
      'cleared by null',
      [
        { ...run, output: 'a' },
        { output: null, status: 'completed' },
      ],
      'completed',
      { output: '' },
    ],
    ['left by absence', [{ ...run, output: 'a' }, { status: 'completed' }], 'completed', { output: 'a' }],
  ])('%s', (_what, upserts, state, output) => {
    expect(result(...upserts)).toEqual([state, output]);
  });

  it('truncates long output in its middle, and marks it', () => {
    const [, output] = result(run, { status: 'completed', output: `first\n${'x y '.repeat(20_000)}\nlast` });
    const { output: text, truncated } = output as { output: string; truncated: boolean };
    expect(truncated).toBe(true);
    expect(text).toMatch(/^first\n.*\n\[… \d+ bytes left out …\]\n.*\nlast$/s);
    expect(Buffer.byteLength(text)).toBeLessThan(16_500);
  });

  it('does not show binary data as text', () => {
    expect(result(run, { status: 'completed', output: '\uFFFD\uFFFD\u0001'.repeat(400) })).toEqual([
      'completed',
      { output: '[binary data, 2800 bytes]', truncated: true },
    ]);
  });
});
