import { randomUUID } from 'node:crypto';
import {
  methods,
  type AgentContext,
  type McpServer,
  type SessionUpdate,
  type StopReason,
  type ToolKind,
} from '@agentclientprotocol/sdk';
import { describeAction, isAction, executeAction, textContent, type Action } from './actions.js';
import { onAbort } from '../retry.js';
import { killRunningCommands } from './shell.js';
import { parsePrompt, type Instruction } from './instructions.js';
import { PlanProgress, closingText, helpText, openingText, type Outcome } from './report.js';
import type { SessionFile } from './session-file.js';

export interface TurnOptions {
  readonly sessionId: string;
  readonly cwd: string;
  readonly prompt: string;
  readonly file: SessionFile;
  readonly client: AgentContext;
  readonly signal: AbortSignal;
  /** MCP servers of the session. */
  readonly servers: readonly McpServer[];
}

export class Turn {
  private readonly number: number;
  private readonly outcomes: Outcome[] = [];
  private plan: PlanProgress | null = null;
  private shownPlan = '[]';
  /** Title of the permission request before the next action. */
  private question: string | null = null;

  constructor(private readonly options: TurnOptions) {
    this.number = options.file.turns + 1;
  }

  async run(): Promise<StopReason> {
    const { prompt, file } = this.options;
    const unfinished = isContinuation(prompt) ? file.unfinished : null;
    const text = unfinished?.text ?? prompt;
    const done = unfinished?.done ?? 0;
    file.append({ type: 'prompt', turn: this.number, text });
    file.append({ type: 'progress', turn: this.number, done });
    const stopReason = await this.execute(text, done, unfinished !== null);
    file.append({ type: 'turn_ended', turn: this.number, stop_reason: stopReason });
    return stopReason;
  }

  private async execute(text: string, alreadyDone: number, isContinued: boolean): Promise<StopReason> {
    const { file, signal } = this.options;
    const parsed = parsePrompt(text);
    const instructions = parsed.instructions.slice(alreadyDone);
    if (instructions.length === 0) {
      const which = this.number === 1 ? '' : ` This is turn ${this.number} of this session.`;
      await this.sendMessage(isContinued ? `Nothing was left to do.${which}` : `${helpText(parsed)}${which}`);
      return 'end_turn';
    }
    await this.sendMessage(openingText(instructions, this.number, isContinued));
    for (const [index, instruction] of instructions.entries()) {
      const stop = await this.step(instruction, instructions.slice(index + 1));
      if (stop !== null) return stop;
      if (signal.aborted) return 'cancelled';
      // Not between a permission request and its action: after an interruption the request is repeated.
      if (this.question === null) file.append({ type: 'progress', turn: this.number, done: alreadyDone + index + 1 });
    }
    const unasked = this.question === null ? [] : [`the permission request "${this.question}" has no action after it`];
    this.plan?.finish();
    await this.showPlan();
    await this.sendMessage(closingText(this.outcomes, { ...parsed, problems: [...parsed.problems, ...unasked] }));
    return 'end_turn';
  }

  /** A stop reason ends the turn. */
  private async step(instruction: Instruction, rest: readonly Instruction[]): Promise<StopReason | null> {
    if (isAction(instruction)) return this.act(instruction);
    switch (instruction.type) {
      case 'plan':
        this.plan = new PlanProgress(instruction.entries, rest.filter(isAction).length);
        await this.showPlan();
        return null;
      case 'think':
        await this.send({
          sessionUpdate: 'agent_thought_chunk',
          messageId: randomUUID(),
          content: { type: 'text', text: instruction.text },
        });
        return null;
      case 'ask':
        this.question = instruction.title;
        return null;
      case 'refuse':
        await this.sendMessage(instruction.message || 'I refuse to continue, as the prompt instructs.');
        return 'refusal';
      case 'fail':
        process.stderr.write(`${instruction.message || 'the prompt instructed the agent to fail'}\n`);
        killRunningCommands();
        process.exit(1);
    }
  }

  private async act(action: Action): Promise<StopReason | null> {
    const { cwd, signal, servers } = this.options;
    const toolCallId = `call_${randomUUID()}`;
    const { path, ...call } = describeAction(action, cwd);
    const locations = path === undefined ? undefined : [{ path }];
    await this.send({ sessionUpdate: 'tool_call', toolCallId, status: 'pending', ...call, locations });
    const resolution = await this.requestPermission(toolCallId, call.kind, call.rawInput);
    if (resolution === 'cancelled') return 'cancelled';
    if (typeof resolution === 'object') {
      const { note } = resolution;
      await this.send({
        sessionUpdate: 'tool_call_update',
        toolCallId,
        status: 'failed',
        content: [textContent(note === undefined ? 'Permission was denied.' : `Permission was denied: ${note}`)],
      });
      return this.conclude({ instruction: action, status: 'denied', note });
    }
    await this.send({ sessionUpdate: 'tool_call_update', toolCallId, status: 'in_progress' }, false);
    const onOutput = (output: string): void => {
      void this.send({ sessionUpdate: 'tool_call_update', toolCallId, content: [textContent(output)] }, false);
    };
    const result = await executeAction(action, cwd, onOutput, signal, servers);
    const { content, rawOutput } = result;
    await this.send({
      sessionUpdate: 'tool_call_update',
      toolCallId,
      status: result.succeeded ? 'completed' : 'failed',
      content,
      rawOutput,
    });
    if (result.wasCancelled) return 'cancelled';
    return this.conclude({ instruction: action, status: result.succeeded ? 'done' : 'failed', note: result.note });
  }

  private async conclude(outcome: Outcome): Promise<null> {
    this.outcomes.push(outcome);
    if (this.plan) {
      this.plan.advance();
      await this.showPlan();
    }
    return null;
  }

  /** An object: denied, with the note if there is one. */
  private async requestPermission(
    toolCallId: string,
    kind: ToolKind,
    rawInput: unknown,
  ): Promise<'allowed' | 'cancelled' | { readonly note?: string }> {
    const { client, sessionId, signal } = this.options;
    const title = this.question;
    if (title === null) return 'allowed';
    this.question = null;
    const asked = client.request(methods.client.session.requestPermission, {
      sessionId,
      toolCall: { toolCallId, title, kind, rawInput },
      options: [
        { optionId: 'allow', name: 'Allow', kind: 'allow_once' },
        { optionId: 'allow_always', name: 'Always allow', kind: 'allow_always' },
        { optionId: 'deny', name: 'Deny', kind: 'reject_once' },
      ],
    });
    const cancelled = new Promise<null>((resolve) => onAbort(signal, () => resolve(null)));
    const answer = await Promise.race([asked, cancelled]);
    if (answer === null || answer.outcome.outcome === 'cancelled' || signal.aborted) return 'cancelled';
    if (answer.outcome.optionId !== 'deny') return 'allowed';
    const note = answer.outcome._meta?.['note'];
    return typeof note === 'string' && note !== '' ? { note } : {};
  }

  /** Streams a message sentence by sentence; it is stored as one record. */
  private async sendMessage(message: string): Promise<void> {
    const messageId = randomUUID();
    const update = (text: string): SessionUpdate => ({
      sessionUpdate: 'agent_message_chunk',
      messageId,
      content: { type: 'text', text },
    });
    this.options.file.append({ type: 'update', turn: this.number, update: update(message) });
    for (const part of message.split(/(?<=[.!?] |\n)/)) await this.send(update(part), false);
  }

  private async showPlan(): Promise<void> {
    const entries = this.plan?.view() ?? [];
    const shown = JSON.stringify(entries);
    if (shown === this.shownPlan) return;
    this.shownPlan = shown;
    await this.send({ sessionUpdate: 'plan', entries });
  }

  private async send(update: SessionUpdate, store = true): Promise<void> {
    const { client, sessionId, file } = this.options;
    if (store) file.append({ type: 'update', turn: this.number, update });
    await client.notify(methods.client.session.update, { sessionId, update });
  }
}

/** "Continue from where you stopped." and similar prompts without instructions. */
function isContinuation(prompt: string): boolean {
  return /^\s*continue\b/i.test(prompt) && parsePrompt(prompt).instructions.length === 0;
}
