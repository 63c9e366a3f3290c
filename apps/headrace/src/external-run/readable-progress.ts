import type { RunnerEvent, ToolContent } from '#execution/runner-protocol';
import { firstLines, printable } from '../cli/printable.js';
import type { Progress, ToldEnd, ToldRun } from './progress.js';

const UNPRINTABLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029]/g;
const MAX_TITLE = 200;

/** For people: what the agent says as it says it, and what it does, with the first lines of its output. */
export class ReadableProgress implements Progress {
  private isWithinLine = false;
  private readonly titles = new Map<string, string>();
  private readonly outputs = new Map<string, string>();

  constructor(private readonly write: (text: string) => void) {}

  begin({ run_id: runId }: ToldRun, page: string): void {
    this.line(`Run ${runId}  ${page}`);
  }

  event({ kind, data }: RunnerEvent): void {
    const text = (name: string): string => (typeof data[name] === 'string' ? data[name] : '');
    switch (kind) {
      case 'setup_command_finished':
        return this.line(`$ ${text('command')}  (exit code ${String(data['exit_code'])})`);
      case 'session_started':
        return this.line(`Agent: ${[text('agent_name'), text('agent_version')].join(' ').trim() || 'started'}`);
      case 'message_chunk':
        return this.say(text('text'));
      case 'tool_call':
        this.noteOutput(text('tool_call_id'), data['content']);
        return this.toolCall(text('tool_call_id'), text('title'), text('status'));
      case 'permission_requested':
        return data['ask'] === true ? this.line(`? waits for a decision: ${text('title')}`) : undefined;
      case 'turn_ended':
        return text('stop_reason') === 'error' ? this.line(`! ${text('message')}`) : undefined;
      default:
        return undefined;
    }
  }

  end({ state, message }: ToldEnd): void {
    this.line(message === undefined ? state : `${state}: ${message}`);
  }

  /** Absent keys of a tool call leave what was there. */
  private noteOutput(id: string, content: unknown): void {
    if (!Array.isArray(content)) return;
    const texts = (content as ToolContent[]).flatMap((part) => (part.text === undefined ? [] : [part.text]));
    this.outputs.set(id, texts.join('\n').trimEnd());
  }

  /** Printed when it begins, and its output when it has ended. */
  private toolCall(id: string, title: string, status: string): void {
    const known = this.titles.get(id);
    if (title !== '') this.titles.set(id, title);
    const name = title === '' ? (known ?? '') : title;
    if (name === '') return;
    if (known === undefined) this.line(`> ${name}`);
    if (status === 'failed') this.line(`> ${name}  (failed)`);
    if (status !== 'failed' && status !== 'completed') return;
    const output = this.outputs.get(id) ?? '';
    this.outputs.delete(id);
    if (output !== '') for (const line of firstLines('  ', output)) this.line(line);
  }

  private say(text: string): void {
    if (text === '') return;
    this.write(text.replaceAll(UNPRINTABLE, '\uFFFD'));
    this.isWithinLine = !text.endsWith('\n');
  }

  private line(text: string): void {
    const shown = text.length > MAX_TITLE ? `${text.slice(0, MAX_TITLE)}…` : text;
    this.write(`${this.isWithinLine ? '\n' : ''}${printable(shown)}\n`);
    this.isWithinLine = false;
  }
}
