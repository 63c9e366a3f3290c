import { firstLines, LineWriter } from '../cli/output.js';

export interface StateEvent {
  readonly state: string;
  readonly status_message?: { readonly message: string };
}

export interface TimelineEvent {
  readonly event_type: string;
  readonly payload?: Readonly<Record<string, unknown>>;
}

interface Block {
  readonly type: string;
  readonly text?: string;
  readonly id?: string;
  readonly action_id?: string;
  readonly name?: string;
  readonly state?: string;
  readonly input?: Readonly<Record<string, unknown>>;
  readonly output?: Readonly<Record<string, unknown>>;
}

/** One message, new or changed; docs/live-events.md describes it. */
export interface ConversationEvent {
  readonly path: readonly number[];
  readonly message_index?: number;
  readonly message?: { readonly role: string; readonly content: readonly Block[] };
}

export class RunPrinter extends LineWriter {
  private lastState = '';
  /** Position of a block in the conversation → its text that is already written. */
  private readonly written = new Map<string, string>();

  state({ state, status_message: status }: StateEvent): void {
    const text = status === undefined ? state : `${state}: ${status.message}`;
    if (text === this.lastState) return;
    this.lastState = text;
    `[${text}]`.split('\n').forEach((line) => this.line(line));
  }

  timeline({ event_type: type, payload = {} }: TimelineEvent): void {
    if (type !== 'setup_command_finished') return;
    this.line(`$ ${String(payload['command'])}  (exit code ${String(payload['exit_code'])})`);
  }

  conversation({ path, message_index: index, message }: ConversationEvent): void {
    message?.content.forEach((block, position) => {
      this.block(`${path.join('.')}/${index}/${position}`, message.role, block);
    });
  }

  private block(place: string, role: string, block: Block): void {
    const before = this.written.get(place) ?? '';
    if (block.type === 'text' && role === 'assistant') {
      const text = block.text ?? '';
      this.written.set(place, text);
      this.say(text.startsWith(before) ? text.slice(before.length) : `\n${text}`);
      return;
    }
    const text = textOf(block, role);
    if (text === null || text === before) return;
    this.written.set(place, text);
    text.split('\n').forEach((line) => this.line(line));
  }
}

/** Null for a block that is not shown, or not yet. */
function textOf(block: Block, role: string): string | null {
  switch (block.type) {
    case 'text':
      return role === 'user' ? firstLines('| ', block.text ?? '').join('\n') : null;
    case 'action': {
      const { command, paths, query, url, tool, description } = block.input ?? {};
      const subject = [command, paths, query, url, tool, description].find((value) => value !== undefined);
      return `> ${(block.name ?? '').replaceAll('_', ' ')} ${Array.isArray(subject) ? subject.join(', ') : asText(subject)}`;
    }
    case 'action_result': {
      if (block.state === 'running') return null;
      const output = block.output?.['output'];
      const text = typeof output === 'string' ? output.trimEnd() : '';
      const state = block.state === 'completed' ? [] : [`  (${block.state ?? ''})`];
      return [...state, ...(text === '' ? [] : firstLines('  ', text))].join('\n') || null;
    }
    default:
      return null;
  }
}

const asText = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);
