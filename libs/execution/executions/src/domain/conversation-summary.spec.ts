import { describe, expect, it } from 'vitest';
import { ConversationSummary, MAX_SUMMARY_CHARACTERS } from './conversation-summary.js';

const FENCE = '```sh\necho again\n```';

function summaryOf(turns: number, prompt = FENCE): string {
  const summary = new ConversationSummary();
  for (let turn = 0; turn < turns; turn += 1) {
    summary.add({ kind: 'turn_started', data: { prompt } });
    summary.add({ kind: 'tool_call', data: { tool_call_id: 'a', title: FENCE } });
    summary.add({ kind: 'message_chunk', data: { text: `Done:\n${FENCE}` } });
    summary.add({ kind: 'turn_ended', data: { stop_reason: 'end_turn' } });
  }
  return summary.toString();
}

describe('ConversationSummary', () => {
  it('contains prompts, actions and answers, and is empty without a turn', () => {
    expect(summaryOf(0)).toBe('');
    expect(summaryOf(1, 'Go.\nOn.')).toMatch(
      /^User:\n {4}Go\.\n {4}On\.\n\nActions of the assistant:\n {4}- ```sh\n[^]*\n\nAssistant:\n {4}Done:\n/,
    );
  });

  it('separates messages, and says which turns have no end', () => {
    const summary = new ConversationSummary();
    const start = (prompt: string) => summary.add({ kind: 'turn_started', data: { prompt } });
    const call = () => summary.add({ kind: 'tool_call', data: { tool_call_id: 'a', title: 'touch a' } });
    const say = (text: string) => summary.add({ kind: 'message_chunk', data: { text } });
    const marker = '[This turn was interrupted. Changes that it made to files may be missing.]';
    start('one');
    say('I create a file.');
    call();
    say('Done.');
    summary.add({ kind: 'turn_ended', data: {} });
    start('two');
    call();
    start('three');
    call();
    summary.add({ kind: 'workspace_snapshot', data: { reason: 'turn' } });
    const text = summary.toString();
    expect(text).toContain('    I create a file.\n    \n    Done.');
    expect(text.split(marker)).toHaveLength(2);
    expect(text.indexOf(marker)).toBeGreaterThan(text.indexOf('two'));
    expect(text.indexOf(marker)).toBeLessThan(text.indexOf('three'));
    call();
    expect(summary.toString().endsWith(marker)).toBe(true);
  });

  it('has no fenced block that an agent could execute, also when it is shortened', () => {
    for (const turns of [1, 500]) {
      const summary = summaryOf(turns);
      expect(summary).toContain('echo again');
      expect(summary).not.toMatch(/^ {0,3}(`{3}|~{3})/m);
    }
    expect(summaryOf(500).length).toBeLessThanOrEqual(MAX_SUMMARY_CHARACTERS + 4);
  });
});
