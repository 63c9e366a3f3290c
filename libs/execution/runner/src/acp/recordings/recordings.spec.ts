import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { fields } from '../fields.js';
import { AcpNormalizer } from '../normalizer.js';

/**
 * What real agents sent during one turn, in which their model called the shell once and then said a text. Recorded with
 * the model server of the tests, without lists of commands; directories are replaced.
 */
interface Expected {
  readonly tokens: object;
  readonly tool_name?: string;
  /** What of the call's result tells what the command has printed. Gemini keeps it to itself. */
  readonly output?: unknown;
}

const EXPECTED: Readonly<Record<string, Expected>> = {
  claude: {
    tokens: { input_tokens: 200, output_tokens: 40, total_tokens: 240, cost_usd: expect.closeTo(0.0024, 6) as number },
    tool_name: 'Bash',
    output: 'made by claude',
  },
  codex: {
    tokens: { input_tokens: 200, output_tokens: 40, total_tokens: 240 },
    tool_name: 'exec_command',
    output: { output: 'made by codex', exit_code: 0 },
  },
  gemini: { tokens: { input_tokens: 200, output_tokens: 40, total_tokens: 240 } },
  opencode: {
    tokens: { input_tokens: 100, output_tokens: 20, total_tokens: 120 },
    output: expect.objectContaining({ output: 'made by opencode' }),
  },
  qwen: {
    tokens: { input_tokens: 200, output_tokens: 40, total_tokens: 240 },
    tool_name: 'run_shell_command',
    output: expect.objectContaining({ output: 'made by qwen', exitCode: 0 }),
  },
};

interface Line {
  readonly update?: unknown;
  readonly permission?: { readonly toolCall: unknown };
  readonly response?: unknown;
}

function play(id: string) {
  const text = readFileSync(new URL(`${id}.jsonl`, import.meta.url), 'utf8');
  const normalizer = new AcpNormalizer(() => 'minted');
  normalizer.startTurn();
  const events = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)
    .flatMap(({ update, permission, response }) => {
      if (permission) return normalizer.permissionCall(permission.toolCall);
      return response ? normalizer.turnUsage(response) : normalizer.update(update);
    });
  const of = (kind: string) => events.filter((event) => event.kind === kind).map(({ data }) => data);
  return { of, left: normalizer.closeOpenCalls('completed') };
}

it('has a recording of each standard harness', () => {
  const recorded = readdirSync(new URL('.', import.meta.url)).filter((name) => /^(?!oz).*\.jsonl$/.test(name));
  expect(recorded.sort()).toEqual(Object.keys(EXPECTED).map((id) => `${id}.jsonl`));
});

describe.each(Object.entries(EXPECTED))('%s', (id, { tokens, tool_name, output }) => {
  it('is converted to one finished command, a text and the usage of a turn', () => {
    const { of, left } = play(id);
    const updates = of('tool_call');
    expect(new Set(updates.map((call) => call['tool_call_id'])).size).toBe(1);
    const call = Object.assign({}, ...updates) as Record<string, unknown>;
    expect(call).toMatchObject({
      tool_kind: 'execute',
      status: 'completed',
      ...(tool_name === undefined ? {} : { tool_name }),
      ...(output === undefined ? {} : { output }),
    });
    // Gemini tells the command in the title only.
    expect(String(fields(call['input'])['command'] ?? call['title'])).toContain('made.txt');
    expect(left).toEqual([]);
    const said = of('message_chunk').map(({ text }) => text);
    expect(said.join('')).toContain('The command has run.');
    expect(of('usage')).toEqual([tokens]);
  });
});
