import type { RunEvent } from '#execution/runner-protocol';

/** Of a summary: the newest part is kept. */
export const MAX_SUMMARY_CHARACTERS = 32_768;
const MAX_PROMPT = 4_000;
const MAX_ANSWER = 6_000;

/**
 * The conversation of a run as text, for an agent that cannot load its session: prompts, answers, and the titles of tool
 * calls. Texts are indented: they are less likely read as instructions, and a fence in them begins no block. Empty without a
 * turn.
 */
export class ConversationSummary {
  private parts: string[] = [];
  private answer = '';
  /** The agent may have changed files since the last snapshot or the end of its turn. */
  private isUnstored = false;
  private calls = new Map<string, string>();

  add({ kind, data }: Pick<RunEvent, 'kind' | 'data'>): void {
    const text = (key: string): string => (typeof data[key] === 'string' ? data[key] : '');
    if (kind === 'turn_started') {
      this.interruptTurn();
      this.isUnstored = true;
      this.parts.push(`User:\n${indented(shortened(text('prompt'), MAX_PROMPT))}`);
    } else if (kind === 'message_chunk') {
      this.answer = (this.answer + text('text')).slice(-2 * MAX_ANSWER);
    } else if (kind === 'tool_call') {
      this.isUnstored = true;
      if (/[^\n]$/.test(this.answer)) this.answer += '\n\n';
      const title = text('title') || this.calls.get(text('tool_call_id')) || text('tool_name');
      this.calls.set(text('tool_call_id'), shortened(title, 200));
    } else if (kind === 'workspace_snapshot') {
      this.isUnstored = false;
    } else if (kind === 'turn_ended') {
      this.isUnstored = false;
      this.endTurn();
    }
  }

  toString(): string {
    this.interruptTurn();
    const text = this.parts.join('\n\n');
    if (text.length <= MAX_SUMMARY_CHARACTERS) return text;
    const end = text.slice(-MAX_SUMMARY_CHARACTERS);
    // From the beginning of a line, with its indentation.
    return `[…]\n${end.slice(end.indexOf('\n') + 1)}`;
  }

  /** A turn whose execution was lost has no end. Its last changes were not stored. */
  private interruptTurn(): void {
    this.endTurn();
    if (this.isUnstored) this.parts.push('[This turn was interrupted. Changes that it made to files may be missing.]');
    this.isUnstored = false;
  }

  private endTurn(): void {
    const actions = [...this.calls.values()].filter((title) => title !== '');
    if (actions.length > 0)
      this.parts.push(`Actions of the assistant:\n${indented(actions.map((title) => `- ${title}`).join('\n'))}`);
    if (this.answer.trim() !== '')
      this.parts.push(`Assistant:\n${indented(shortened(this.answer.trim(), MAX_ANSWER))}`);
    this.answer = '';
    this.calls = new Map();
  }
}

const indented = (text: string): string => text.replace(/^/gm, '    ');

const shortened = (text: string, max: number): string => (text.length <= max ? text : `${text.slice(0, max)} […]`);
