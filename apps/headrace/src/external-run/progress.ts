import type { RunnerEvent, ToolContent } from '#execution/runner-protocol';
import { firstLines, LineWriter } from '../cli/output.js';

/** A run as the command shows it, without its token. */
export interface ExternalRun {
  readonly run_id: string;
  readonly execution_id: string;
}

export interface RunEnd {
  readonly state: string;
  readonly message?: string;
}

export interface Progress {
  begin(run: ExternalRun, page: string): void;
  event(event: RunnerEvent): void;
  end(end: RunEnd): void;
}

/** One JSON object a line: `{type: "run" | "event" | "end", …}`. */
export class JsonProgress implements Progress {
  constructor(private readonly write: (text: string) => void) {}

  begin({ run_id, execution_id }: ExternalRun, page: string): void {
    this.line({ type: 'run', run_id, execution_id, page });
  }

  event({ kind, at, data }: RunnerEvent): void {
    this.line({ type: 'event', kind, at, data });
  }

  end({ state, message }: RunEnd): void {
    this.line({ type: 'end', state, message });
  }

  private line(value: object): void {
    this.write(`${JSON.stringify(value)}\n`);
  }
}

export class ReadableProgress extends LineWriter implements Progress {
  private readonly titles = new Map<string, string>();
  private readonly outputs = new Map<string, string>();

  begin({ run_id: runId }: ExternalRun, page: string): void {
    this.line(`Run ${runId}  ${page}`);
  }

  event({ kind, data }: RunnerEvent): void {
    const text = (name: string): string => (typeof data[name] === 'string' ? data[name] : '');
    switch (kind) {
      case 'workspace_restored':
        return this.line(`Restored ${String(data['entries'])} files and directories of the last snapshot.`);
      case 'workspace_snapshot_failed':
        return this.line(`! ${text('message')}`);
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
        return data['ask'] === true ? this.line(`? waiting for a decision: ${text('title')}`) : undefined;
      case 'turn_ended':
        return text('stop_reason') === 'error' ? this.line(`! ${text('message')}`) : undefined;
      default:
        return undefined;
    }
  }

  end({ state, message }: RunEnd): void {
    this.line(message === undefined ? state : `${state}: ${message}`);
  }

  /** A tool call without content keeps its earlier content. */
  private noteOutput(id: string, content: unknown): void {
    if (!Array.isArray(content)) return;
    const texts = (content as ToolContent[]).flatMap((part) => (part.text === undefined ? [] : [part.text]));
    this.outputs.set(id, texts.join('\n').trimEnd());
  }

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
}
