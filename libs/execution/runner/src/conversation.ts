import { RequestError, type PromptResponse } from '@agentclientprotocol/sdk';
import { formatTraceparent, newUuid, parseTraceparent, turnTraceparent } from '#platform/kernel';
import type {
  AttachmentRef,
  Commands,
  InterruptOrder,
  RunnerEventKind,
  SetupFailed,
  TurnEnded,
  TurnStarted,
} from '#execution/runner-protocol';
import type { AgentSession } from './acp/agent-session.js';
import { attachmentContent } from './acp/content.js';
import { failureOfTurn } from './agent-failure.js';
import type { AgentHost } from './agent-host.js';
import type { ExecutionOptions } from './execution-options.js';
import { closed, interruptUnanswered, TerminatedError, type ExecutionEnd, type TurnEnd } from './termination.js';
import type { PlainEvent } from './protocol/outgoing-events.js';
import { settlesWithin } from './retry.js';
import type { AttachmentFiles, PlacedAttachment } from './workspace/attachments.js';
import type { TranscriptSync } from './workspace/transcript-sync.js';

interface ConversationOptions extends Pick<ExecutionOptions, 'assignment' | 'outbox' | 'termination'> {
  readonly host: AgentHost;
  readonly inbox: Inbox;
  readonly collectArtifacts: () => Promise<void>;
  /** What the user has to know about the result of the turn; null: nothing. */
  readonly resultNotice: () => string | null;
  readonly onTurnBegin: () => void;
  /** Before the end of the turn is reported. */
  readonly onTurnEnd: () => Promise<void>;
  /** Present when the session ends after a turn without a waiting message: reads messages that have arrived meanwhile. */
  readonly pollCommands: (() => Promise<void>) | undefined;
}

export interface ConversationStart {
  readonly harnessId: string;
  readonly transcripts: TranscriptSync;
  /** A new session: the agent gets the base prompt and the run's files with its first prompt. */
  readonly isNew: boolean;
  readonly attachments: readonly PlacedAttachment[];
  /** For those that come with follow-ups. */
  readonly files: AttachmentFiles;
  /** What the agent has to know about the workspace before its first prompt. */
  readonly notice: string;
  /** What it reads about the tools of the run at the beginning of its session; empty: it has none. */
  readonly toolNotice: string;
}

const STOP_REASONS: readonly string[] = ['end_turn', 'refusal', 'max_tokens', 'max_turn_requests'];

interface OpenTurn {
  readonly id: string;
  answer: Promise<unknown>;
  /** `starting`: the agent does not have the prompt yet. */
  stage: 'starting' | 'asked' | 'answered';
  isInterrupted: boolean;
}

/** What precedes the text of the next prompt, and comes with it, until the agent has got a prompt. */
interface PromptOpening {
  readonly prefix: string;
  readonly files: readonly PlacedAttachment[];
}

const INTERRUPTED: TurnEnd = { stop_reason: 'cancelled', interrupt: 'done' };

export class Conversation {
  private turn: OpenTurn | null = null;
  /** Events before the first turn; they are reported with it. */
  private early: PlainEvent[] | null = [];
  /** The agent may have acted: the execution must not be repeated. */
  hasStarted = false;
  isIdle = false;
  private closeRequested = false;
  /** A debug window: its first prompt, and the text before it. */
  private debugging: { readonly first: Prompt; readonly preamble: string } | 'waiting' | null = null;

  constructor(private readonly options: ConversationOptions) {}

  /** The failure of the set-up was reported: the run cannot be handed back any more. */
  get isDebugging(): boolean {
    return this.debugging !== null;
  }

  get openTurn(): Promise<unknown> | null {
    return this.turn?.answer ?? null;
  }

  /** An idle session ends now, a working one after its turn; `false` revokes the request. */
  requestClose(wanted: boolean, reason?: string): void {
    this.closeRequested = wanted;
    if (wanted && this.isIdle) this.options.termination.decide(closed(reason));
  }

  /**
   * Cancels the turn that the order names; for another one, and when it is repeated, it changes nothing. `decided`: the
   * decisions that the control plane has recorded.
   */
  interrupt({ turn_id: turnId, timeout_seconds: seconds }: InterruptOrder, decided: Commands['decisions']): void {
    const { turn } = this;
    const { host, termination } = this.options;
    if (turn?.id !== turnId || turn.isInterrupted || turn.stage === 'answered' || termination.ending) return;
    turn.isInterrupted = true;
    if (turn.stage === 'starting') return;
    host.permissions.cancelTurn(decided);
    host.session?.cancel().catch(() => undefined); // an agent that does not receive it is ended below
    void settlesWithin(turn.answer, seconds * 1000, termination.signal).then((isAnswered) => {
      if (!isAnswered && !termination.ending) termination.decide(interruptUnanswered(seconds));
    });
  }

  emit(event: PlainEvent): void {
    if (this.early) this.early.push(event);
    else this.push(event.kind, event.data);
  }

  /** After a failed set-up: waits without an agent for the first message to a debug agent. */
  async openDebugWindow(failure: SetupFailed): Promise<void> {
    const { inbox, termination, outbox } = this.options;
    inbox.acceptDebugOnly();
    this.debugging = 'waiting';
    this.push<SetupFailed>('setup_failed', failure);
    await termination.race(outbox.flush());
    this.isIdle = true;
    if (this.closeRequested) termination.decide(closed());
    const first = await termination.race(inbox.next());
    this.isIdle = false;
    this.debugging = { first, preamble: debugPreamble(failure.message) };
  }

  /** The debug agent could not be started: the turn of its first message reports the failure to the sender. */
  failDebugWindow(): void {
    if (this.debugging === null || this.debugging === 'waiting' || this.turn) return;
    this.turn = newTurn();
    this.reportTurnStarted(this.turn.id, this.debugging.first, []);
  }

  /** Runs until the execution is terminated (TerminatedError), the agent fails (AgentFailure), or exits while it is idle. */
  async run(session: AgentSession, start: ConversationStart): Promise<ExecutionEnd> {
    const { harnessId, isNew, attachments, notice, toolNotice } = start;
    const { prompt: first, mode, base_prompt: basePrompt } = this.options.assignment;
    const debugging = this.debugging === 'waiting' ? null : this.debugging;
    const parts = [basePrompt ?? '', toolNotice].filter((part) => part !== '');
    const base = isNew ? parts.map((part) => `${part}\n\n`).join('') : '';
    const prefix = `${notice}${debugging?.preamble ?? base}`;
    const files = debugging === null && (first !== null || isNew) ? attachments : [];
    let prompt: Prompt | null =
      debugging?.first ??
      (first === null ? await this.nextPrompt(session) : { text: first.trim() === '' ? CONTINUE_PROMPT : first, mode });
    let opening: PromptOpening = { prefix, files };
    while (prompt !== null) {
      if (!this.hasStarted) this.reportAgentStarted(harnessId);
      const unsent = await this.runTurn(session, prompt, opening, start);
      // A message that was interrupted before the agent got it is not lost: it precedes the next one, with its files.
      opening = unsent === null ? NO_OPENING : { ...unsent, prefix: `${unsent.prefix}${prompt.text}\n\n` };
      prompt = await this.nextPrompt(session);
    }
    return { ...closed('The agent process ended while it was idle.'), stopMode: 'kill' };
  }

  /** Ends the open calls, when the agent will report nothing more. */
  closeCalls(): void {
    if (this.turn) for (const event of this.options.host.normalizer.closeOpenCalls('failed')) this.emit(event);
  }

  closeTurn(end: TurnEnd): void {
    if (this.turn) this.push<TurnEnded>('turn_ended', { turn_id: this.turn.id, ...end });
    this.turn = null;
  }

  /** null: the agent has exited. */
  private async nextPrompt(session: AgentSession): Promise<Prompt | null> {
    const { termination, inbox, pollCommands } = this.options;
    if (pollCommands && this.hasStarted) {
      await termination.race(pollCommands());
      if (inbox.isEmpty) termination.decide(closed());
    }
    this.isIdle = true;
    if (this.closeRequested) termination.decide(closed());
    const next = await termination.race(Promise.race([inbox.next(), session.closed.then(() => null)]));
    this.isIdle = false;
    return next;
  }

  private reportAgentStarted(harnessId: string): void {
    this.hasStarted = true;
    this.push('agent_started', { harness: harnessId, pid: this.options.host.process?.pid });
  }

  /** What precedes the prompt, when the agent did not get it; null: it did. */
  private async runTurn(
    session: AgentSession,
    prompt: Prompt,
    opening: PromptOpening,
    { transcripts, files: placing }: ConversationStart,
  ): Promise<PromptOpening | null> {
    const { host, outbox, termination } = this.options;
    const own = await termination.race(placing.placeBesideAgent(prompt.attachments ?? []));
    const prefix = [opening.prefix, ...own.problems.map((problem) => `${problem}\n\n`)].join('');
    // A file of the follow-up may be one of those that every execution of the run gets.
    const files = [...new Map([...opening.files, ...own.files].map((file) => [file.ref.attachment_id, file])).values()];
    if (prompt.mode !== undefined) await host.setMode(prompt.mode);
    const turn = newTurn();
    this.turn = turn;
    this.reportTurnStarted(turn.id, prompt, files);
    host.normalizer.startTurn(this.options.assignment.reports_usage_early);
    for (const event of this.early ?? []) this.push(event.kind, event.data);
    this.early = null;
    // The agent may act on the prompt from here on. Actions are never repeated, so the control plane must have the start of the
    // turn before: it gives a prompt without one to the next execution.
    await termination.race(outbox.flush());
    if (termination.ending) throw new TerminatedError();
    // A cancel that reaches an agent together with its prompt may be lost, so the prompt is not sent at all.
    if (turn.isInterrupted) {
      this.closeTurn(INTERRUPTED);
      return { prefix, files };
    }
    const content = files.map((file) => attachmentContent(file, session.capabilities.promptCapabilities ?? {}));
    host.output.start();
    host.permissions.startTurn();
    const expired = host.watch.start();
    this.options.onTurnBegin();
    const answer = session.prompt(`${prefix}${prompt.text}`, content, this.traceparentOf(turn));
    turn.answer = answer;
    turn.stage = 'asked';
    const response = await host
      .ask('the turn', Promise.race([answer.catch((error: unknown) => answerOfInterrupted(turn, error)), expired]))
      .finally(() => host.watch.stop());
    turn.stage = 'answered';
    host.permissions.endTurn();
    // The child of an agent that was killed may answer for it.
    if (response.stopReason === 'cancelled' && !turn.isInterrupted)
      await termination.race(host.failIfExited('the turn'));
    // Any answer to a cancel ends the turn: not every agent uses the stop reason that the protocol requires.
    const end = turn.isInterrupted ? INTERRUPTED : turnEnd(response.stopReason, host.normalizer.hasDenied);
    const usage = host.normalizer.turnUsage(response);
    const failure = turn.isInterrupted ? null : failureOfTurn(response, host.output, usage.some(isSpent));
    const closing = host.normalizer.closeOpenCalls(
      failure || end.stop_reason === 'error' || end.stop_reason === 'cancelled' ? 'failed' : 'completed',
    );
    for (const event of [...usage, ...closing]) this.emit(event);
    // The session ends with the failure: a follow-up starts the agent again, with the current secrets.
    if (failure) throw failure;
    // Before the end of the turn is reported: its transcript and artifacts must be available by then.
    await termination.race(transcripts.upload(session.id));
    await termination.race(this.options.onTurnEnd());
    await termination.race(this.options.collectArtifacts());
    const notice = end.stop_reason === 'end_turn' ? this.options.resultNotice() : null;
    this.closeTurn(notice === null ? end : { ...end, notice });
    return null;
  }

  private traceparentOf({ id }: OpenTurn): string | null {
    const run = parseTraceparent(this.options.assignment.traceparent);
    return run && formatTraceparent(turnTraceparent(run, id));
  }

  private reportTurnStarted(id: string, prompt: Prompt, files: readonly PlacedAttachment[]): void {
    this.push<TurnStarted>('turn_started', {
      turn_id: id,
      prompt: prompt.text,
      followup_id: prompt.followupId,
      mode: prompt.mode,
      attachments: files.length === 0 ? undefined : files.map(attachmentSummary),
    });
  }

  private push<T extends object>(kind: RunnerEventKind, data: T): void {
    if (!this.options.termination.isFenced) this.options.outbox.push(kind, data);
  }
}

const attachmentSummary = ({ ref: { file_name, mime_type, size_bytes } }: PlacedAttachment) => ({
  file_name,
  mime_type,
  size_bytes,
});

const newTurn = (): OpenTurn => ({
  id: newUuid(),
  answer: Promise.resolve(),
  stage: 'starting',
  isInterrupted: false,
});

const NO_OPENING: PromptOpening = { prefix: '', files: [] };

/** Some agents answer a cancelled prompt with an error; the process and its session are still there. */
function answerOfInterrupted({ isInterrupted }: OpenTurn, error: unknown): PromptResponse {
  if (isInterrupted && error instanceof RequestError) return { stopReason: 'cancelled' };
  throw error;
}

const isSpent = ({ data }: PlainEvent): boolean => Object.values(data).some((count) => Number(count) > 0);

/** A turn that the agent cancels without a request is an error, not a turn that a person has cancelled. */
function turnEnd(stopReason: string, hasDenied: boolean): TurnEnd {
  if (STOP_REASONS.includes(stopReason)) return { stop_reason: stopReason as TurnEnded['stop_reason'] };
  if (stopReason !== 'cancelled')
    return { stop_reason: 'error', message: 'The agent ended the turn for an unknown reason.' };
  const message = hasDenied
    ? 'The agent ended the turn because a permission request was denied.'
    : 'The agent cancelled the turn by itself.';
  return { stop_reason: 'error', message };
}

/**
 * What a debug agent reads before the first message of its user. The output of the set-up is indented, so that it is not
 * read as an instruction and a fence in it begins no block.
 */
export function debugPreamble(failureMessage: string): string {
  const quoted = failureMessage
    .split(/\r?\n/)
    .map((line) => `    ${line}`)
    .join('\n');
  return [
    'The set-up of this environment failed, and the run that it was created for has not started. You are in the workspace',
    'in the state after the set-up, to find the cause together with your user. This is what failed:',
    '',
    quoted,
    '',
    'Your changes here are for experiments only: the workspace is deleted when this session ends. Message of your user:',
    '',
    '',
  ].join('\n');
}

export interface Prompt {
  readonly text: string;
  readonly followupId?: string;
  readonly mode?: string | undefined;
  readonly attachments?: readonly AttachmentRef[] | undefined;
}

/** The first prompt of a continued session whose follow-up is empty. */
export const CONTINUE_PROMPT = 'Continue from where you stopped.';
/** Of a follow-up that has files and no message. */
const READ_FILES_PROMPT = 'Continue with the attached files.';

/** Commands are a snapshot that the control plane repeats until they are consumed: every id counts once. */
export class Inbox {
  private readonly seen = new Set<string>();
  private readonly queue: Prompt[] = [];
  private waiting: ((prompt: Prompt) => void) | undefined;
  private isForDebugging = false;

  receive(prompts: Commands['prompts']): void {
    for (const { followup_id: followupId, message, mode, debug, attachments } of prompts) {
      // Prompts for the run itself stay with the control plane during a debug window.
      if (this.seen.has(followupId) || (this.isForDebugging && debug !== true)) continue;
      this.seen.add(followupId);
      const isEmpty = message.trim() === '';
      const text = isEmpty ? (attachments === undefined ? CONTINUE_PROMPT : READ_FILES_PROMPT) : message;
      this.queue.push({ text, followupId, mode, attachments });
    }
    this.deliver();
  }

  /** From now on accepts only prompts for the debug agent; earlier ones were for the run. */
  acceptDebugOnly(): void {
    this.isForDebugging = true;
    this.queue.length = 0;
    this.seen.clear();
  }

  get isEmpty(): boolean {
    return this.queue.length === 0;
  }

  /** The next prompt. One caller at a time. */
  next(): Promise<Prompt> {
    return new Promise((resolve) => {
      this.waiting = resolve;
      this.deliver();
    });
  }

  private deliver(): void {
    const { waiting } = this;
    const prompt = waiting && this.queue.shift();
    if (!waiting || !prompt) return;
    this.waiting = undefined;
    waiting(prompt);
  }
}
