import { newUuid } from '#platform/kernel';
import type { Assignment, RunnerEventKind, SetupFailed, TurnEnded, TurnStarted } from '#execution/runner-protocol';
import type { AgentSession } from './acp/agent-session.js';
import { attachmentContent } from './acp/content.js';
import { failureOfTurn } from './agent-failure.js';
import type { AgentHost } from './agent-host.js';
import { closed, TerminatedError, type ExecutionEnd, type Termination, type TurnEnd } from './termination.js';
import type { PlainEvent } from './protocol/outgoing-events.js';
import { CONTINUE_PROMPT, type Inbox, type Prompt } from './protocol/inbox.js';
import type { Outbox } from './protocol/outbox.js';
import type { PlacedAttachment } from './workspace/attachments.js';
import type { TranscriptSync } from './workspace/transcript-sync.js';

export interface ConversationOptions {
  readonly assignment: Assignment;
  readonly host: AgentHost;
  readonly inbox: Inbox;
  readonly outbox: Outbox;
  readonly termination: Termination;
  /** Hands in what the agent has produced so far. */
  readonly collectArtifacts: () => Promise<void>;
  /** Present when the session ends with a turn after which nothing waits: asks for what has come meanwhile. */
  readonly pollCommands?: () => Promise<void>;
}

/** What a conversation begins with. */
export interface Opening {
  readonly harnessId: string;
  readonly transcripts: TranscriptSync;
  /** The agent remembers nothing of the run: it gets the base prompt, and the run's files whatever its first prompt is. */
  readonly isNew: boolean;
  readonly attachments: readonly PlacedAttachment[];
}

/** A debug window: its first prompt, and what the agent reads before it. */
interface Debugging {
  readonly first: Prompt;
  readonly opening: string;
}

interface OpenTurn {
  readonly id: string;
  readonly answer: Promise<unknown>;
}

const STOP_REASONS: readonly string[] = ['end_turn', 'refusal', 'max_tokens', 'max_turn_requests'];

/** Turn after turn with one agent, told as events. */
export class Conversation {
  private turn: OpenTurn | null = null;
  /** What the agent says before its first turn; it is told with that turn. */
  private early: PlainEvent[] | null = [];
  private started = false;
  private idle = false;
  private closeRequested = false;
  private debugging: Debugging | 'waiting' | null = null;

  constructor(private readonly options: ConversationOptions) {}

  /** The agent may have acted: the execution must not be repeated. */
  get hasStarted(): boolean {
    return this.started;
  }

  get isIdle(): boolean {
    return this.idle;
  }

  /** The set-up has failed and was told: the run cannot be handed back any more. */
  get isDebugging(): boolean {
    return this.debugging !== null;
  }

  /** The agent's answer to the prompt that it works on. */
  get openTurn(): Promise<unknown> | null {
    return this.turn?.answer ?? null;
  }

  /** An idle session ends now, a working one after its turn; `false` takes it back. */
  requestClose(wanted: boolean, reason?: string): void {
    this.closeRequested = wanted;
    if (wanted && this.idle) this.options.termination.decide(closed(reason));
  }

  emit(event: PlainEvent): void {
    if (this.early) this.early.push(event);
    else this.push(event.kind, event.data);
  }

  /** The set-up has failed: waits, without an agent, for somebody who wants to know why. */
  async openDebugWindow(failure: SetupFailed): Promise<void> {
    const { inbox, termination, outbox } = this.options;
    inbox.acceptDebugOnly();
    this.debugging = 'waiting';
    this.push<SetupFailed>('setup_failed', failure);
    await termination.race(outbox.flush());
    this.idle = true;
    if (this.closeRequested) termination.decide(closed());
    const first = await termination.race(inbox.next());
    this.idle = false;
    this.debugging = { first, opening: debugPreamble(failure.message) };
  }

  /** The debug agent could not be started: whoever wrote the message that it was for is told so by its turn. */
  failDebugWindow(): void {
    if (this.debugging === null || this.debugging === 'waiting' || this.turn) return;
    this.turn = { id: newUuid(), answer: Promise.resolve() };
    this.reportTurnStarted(this.turn.id, this.debugging.first, []);
  }

  /** Until the execution is told to end (TerminatedError), the agent fails (AgentFailure), or leaves while it is idle. */
  async run(session: AgentSession, { harnessId, transcripts, isNew, attachments }: Opening): Promise<ExecutionEnd> {
    const { prompt: first, mode, base_prompt: basePrompt } = this.options.assignment;
    const debugging = this.debugging === 'waiting' ? null : this.debugging;
    const base = isNew && basePrompt !== null && basePrompt !== '' ? `${basePrompt}\n\n` : '';
    const prefix = debugging?.opening ?? base;
    const files = debugging === null && (first !== null || isNew) ? attachments : [];
    let prompt: Prompt | null =
      debugging?.first ??
      (first === null ? await this.nextPrompt(session) : { text: first.trim() === '' ? CONTINUE_PROMPT : first, mode });
    while (prompt !== null) {
      if (!this.started) await this.reportAgentStarted(harnessId);
      await this.runTurn(session, prompt, this.early ? { prefix, files } : { prefix: '', files: [] }, transcripts);
      prompt = await this.nextPrompt(session);
    }
    return { ...closed('The agent process ended while it was idle.'), stopMode: 'kill' };
  }

  /** Ends the calls that the agent has left open, when there will be no more word from it. */
  closeCalls(): void {
    if (this.turn) for (const event of this.options.host.normalizer.closeOpenCalls('failed')) this.emit(event);
  }

  /** Ends a turn that the agent has not ended itself. */
  closeTurn(end: TurnEnd): void {
    if (this.turn) this.push<TurnEnded>('turn_ended', { turn_id: this.turn.id, ...end });
    this.turn = null;
  }

  /** null: the agent has gone. */
  private async nextPrompt(session: AgentSession): Promise<Prompt | null> {
    const { termination, inbox, pollCommands } = this.options;
    if (pollCommands && this.started) {
      await termination.race(pollCommands());
      if (inbox.isEmpty) termination.decide(closed());
    }
    this.idle = true;
    if (this.closeRequested) termination.decide(closed());
    const next = await termination.race(Promise.race([inbox.next(), session.closed.then(() => null)]));
    this.idle = false;
    return next;
  }

  /** From here on the agent may act, and acts are never repeated: the control plane must know before the agent does. */
  private async reportAgentStarted(harnessId: string): Promise<void> {
    const { host, outbox, termination } = this.options;
    this.started = true;
    this.push('agent_started', { harness: harnessId, pid: host.process?.pid });
    await termination.race(outbox.flush());
    if (termination.ending) throw new TerminatedError();
  }

  private async runTurn(
    session: AgentSession,
    prompt: Prompt,
    { prefix, files }: { prefix: string; files: readonly PlacedAttachment[] },
    transcripts: TranscriptSync,
  ): Promise<void> {
    const { host, termination } = this.options;
    if (prompt.mode !== undefined) await host.setMode(prompt.mode);
    const id = newUuid();
    this.reportTurnStarted(id, prompt, files);
    host.normalizer.startTurn(this.options.assignment.reports_usage_early);
    for (const event of this.early ?? []) this.push(event.kind, event.data);
    this.early = null;
    const content = files.map((file) => attachmentContent(file, session.promptCapabilities));
    host.output.start();
    const expired = host.watch.start();
    const answer = session.prompt(`${prefix}${prompt.text}`, content);
    this.turn = { id, answer };
    const response = await host.ask('the turn', Promise.race([answer, expired])).finally(() => host.watch.stop());
    const end = turnEnd(response.stopReason, host.normalizer.hasDenied);
    const usage = host.normalizer.turnUsage(response);
    const failure = failureOfTurn(response, host.output, usage.some(isSpent));
    const closing = host.normalizer.closeOpenCalls(failure || end.stop_reason === 'error' ? 'failed' : 'completed');
    for (const event of [...usage, ...closing]) this.emit(event);
    // The session ends with it: a follow-up starts the agent again, with the secrets as they are then.
    if (failure) throw failure;
    // Before the turn is told to be over: who sees its end finds its transcript and what it produced.
    await termination.race(transcripts.upload(session.id));
    await termination.race(this.options.collectArtifacts());
    this.closeTurn(end);
  }

  private reportTurnStarted(id: string, prompt: Prompt, files: readonly PlacedAttachment[]): void {
    this.push<TurnStarted>('turn_started', {
      turn_id: id,
      prompt: prompt.text,
      ...(prompt.followupId === undefined ? {} : { followup_id: prompt.followupId }),
      ...(prompt.mode === undefined ? {} : { mode: prompt.mode }),
      ...(files.length === 0 ? {} : { attachments: files.map(told) }),
    });
  }

  private push<T extends object>(kind: RunnerEventKind, data: T): void {
    if (!this.options.termination.isFenced) this.options.outbox.push(kind, data);
  }
}

function told({ ref: { file_name, mime_type, size_bytes } }: PlacedAttachment) {
  return { file_name, mime_type, size_bytes };
}

const isSpent = ({ data }: PlainEvent): boolean => Object.values(data).some((count) => Number(count) > 0);

/** A turn that the agent cancels without being asked is not one that a person has cancelled. */
function turnEnd(stopReason: string, hasDenied: boolean): TurnEnd {
  if (STOP_REASONS.includes(stopReason)) return { stop_reason: stopReason as TurnEnded['stop_reason'] };
  if (stopReason !== 'cancelled')
    return { stop_reason: 'error', message: 'The agent ended the turn for a reason that is not known.' };
  const message = hasDenied
    ? 'The agent ended the turn because a permission request was denied.'
    : 'The agent cancelled the turn by itself.';
  return { stop_reason: 'error', message };
}

/**
 * What a debug agent reads before the first message of its user. What the set-up has printed is indented: nobody takes
 * it for an instruction, and a fence in it begins no block.
 */
export function debugPreamble(failureMessage: string): string {
  const quoted = failureMessage
    .split(/\r?\n/)
    .map((line) => `    ${line}`)
    .join('\n');
  return [
    'The set-up of this environment failed, and the work that it was made for has not begun. You are in the workspace as',
    'the set-up has left it, to find out with your user what is wrong. This is what failed:',
    '',
    quoted,
    '',
    'What you change here is for trying things out: the workspace goes when this session ends. Your user says:',
    '',
    '',
  ].join('\n');
}
