import type { RunEvent, RunEventKind, ToolCall } from '#execution/runner-protocol';

/** Writes the log of one run as the service would have kept it: sequence numbers from 1, a second between two events. */
export class RunLogBuilder {
  readonly events: RunEvent[] = [];
  private execution: string | null = null;

  constructor(
    private readonly runId = '01900000-0000-7000-8000-000000000001',
    private readonly start = new Date('2026-01-02T03:04:05.000Z'),
  ) {}

  /** What follows happens in this execution. */
  inExecution(id: string): this {
    this.execution = id;
    return this;
  }

  add(kind: RunEventKind, data: object = {}): this {
    const seq = this.events.length + 1;
    const at = new Date(this.start.getTime() + (seq - 1) * 1000);
    const fields = { ...data } as Record<string, unknown>;
    this.events.push({ run_id: this.runId, seq, execution_id: this.execution, kind, at, data: fields });
    return this;
  }

  /** From creation to the agent's start, in execution 1. */
  prepared(): this {
    return this.add('run_created', { source: 'API' })
      .inExecution('1')
      .add('run_claimed')
      .add('sandbox_ready')
      .add('session_started', { session_id: 's1', resumed: false })
      .add('agent_started', { harness: 'oz' });
  }

  turn(turnId: string, prompt: string): this {
    return this.add('turn_started', { turn_id: turnId, prompt });
  }

  says(messageId: string, ...chunks: string[]): this {
    for (const text of chunks) this.add('message_chunk', { message_id: messageId, text });
    return this;
  }

  tool(call: ToolCall): this {
    return this.add('tool_call', call);
  }

  ended(turnId: string, stopReason = 'end_turn', message?: string): this {
    return this.add('turn_ended', {
      turn_id: turnId,
      stop_reason: stopReason,
      ...(message === undefined ? {} : { message }),
    });
  }
}
