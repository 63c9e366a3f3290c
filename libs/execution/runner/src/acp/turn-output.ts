import { fields } from './fields.js';
import { chunkText } from './tool-content.js';

const ACTIONS: readonly unknown[] = ['agent_thought_chunk', 'tool_call', 'tool_call_update', 'plan'];
const MAX_TEXT = 4_096;
/** How agents that report no failure with a type begin the text that they show in its place. */
const ERROR_TEXT =
  /^(?:API Error: |unexpected status [45]\d\d\b|exceeded retry limit, last status: |stream disconnected before |Missing environment variable: )/m;

/** What an agent has put out in a turn, as far as it tells whether its model has answered at all. */
export class TurnOutput {
  private said = '';
  private hasActed = false;

  start(): void {
    this.said = '';
    this.hasActed = false;
  }

  /** True when the update shows that the agent makes progress. */
  add(update: unknown): boolean {
    const { sessionUpdate: kind, content } = fields(update);
    if (kind === 'agent_message_chunk') {
      const chunk = chunkText(fields(content));
      if (this.said.length < MAX_TEXT) this.said += chunk;
      return chunk !== '';
    }
    const isAction = ACTIONS.includes(kind);
    this.hasActed ||= isAction;
    return isAction;
  }

  get isEmpty(): boolean {
    return !this.hasActed && this.said.trim() === '';
  }

  /** The error that is all that the agent has said; undefined when there is another output. */
  get errorText(): string | undefined {
    const at = this.hasActed ? -1 : this.said.search(ERROR_TEXT);
    return at < 0 ? undefined : this.said.slice(at).trim();
  }
}
