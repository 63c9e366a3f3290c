import { setTimeout as wait } from 'node:timers/promises';
import type { EventSourceMessage } from 'eventsource-parser/stream';
import { CommandError } from '../cli/command.js';
import type { OutputValues } from '../cli/output.js';
import { type ApiClient, ApiError } from './api-client.js';
import { type ConversationEvent, RunPrinter, type StateEvent, type TimelineEvent } from './run-printer.js';
import { ENDED_STATES, type RemoteRun, runPath } from './runs.js';

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;
/** Consecutive attempts without an event. */
const MAX_FAILURES = 10;
/** Timeline events with which a turn, or the whole run, ends. */
const TURN_ENDS = new Set(['run_done', 'run_failed', 'run_errored', 'run_cancelled']);

export interface FollowOptions extends OutputValues {
  /** The follow-up whose turn is awaited; by default the current turn. */
  readonly followupId?: string;
}

interface RemoteStep {
  readonly id: string;
  readonly messages: readonly NonNullable<ConversationEvent['message']>[];
  readonly steps: readonly RemoteStep[];
}

/**
 * Writes the events of a run to standard output until its turn has ended: as text, or with `json` one object per line,
 * `{event, data}` of docs/live-events.md. Resumes a lost connection. Returns 0 when the run is SUCCEEDED, 1 otherwise.
 */
export async function followRun(api: ApiClient, runId: string, options: FollowOptions): Promise<number> {
  const follower = new Follower(options);
  let lastEventId: string | undefined;
  let failures = 0;
  let pause = FIRST_PAUSE_MS;
  const readUntilEnd = async (): Promise<boolean> => {
    const stream = await api.stream(runPath(runId, '/events'), lastEventId);
    if (stream === null) return true;
    for await (const message of stream) {
      [failures, pause, lastEventId] = [0, FIRST_PAUSE_MS, message.id ?? lastEventId];
      if (follower.hasEndedWith(message)) return true;
    }
    return false;
  };
  for (;;) {
    try {
      if (await readUntilEnd()) break;
    } catch (error) {
      if (!isTransient(error)) throw error;
      if ((failures += 1) === MAX_FAILURES) throw error;
    }
    await wait(pause);
    pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
  }
  // The conversation may be some events behind the state that ended the turn.
  follower.completeWith(await conversationOf(api, runId));
  const { state } = await api.get<RemoteRun>(runPath(runId));
  return state === 'SUCCEEDED' ? 0 : 1;
}

/** Prints events, each version of a message once, and detects the end of the turn. */
class Follower {
  private readonly printer = new RunPrinter((text) => void process.stdout.write(text));
  private readonly messages = new Map<string, string>();
  private isEnded = false;
  private awaitsFollowup: boolean;
  private hasTurnEnded = false;

  constructor(private readonly options: FollowOptions) {
    this.awaitsFollowup = options.followupId !== undefined;
  }

  hasEndedWith({ event, data }: EventSourceMessage): boolean {
    const value: unknown = JSON.parse(data);
    if (event === 'state') this.isEnded = ENDED_STATES.includes((value as StateEvent).state);
    if (event === 'timeline') this.timeline(value as TimelineEvent);
    if (event === 'conversation' && !this.isNew(value as ConversationEvent)) return false;
    this.print(event, value);
    if (event !== 'end') return this.isEnded && this.hasTurnEnded;
    const { reason } = value as { reason: string };
    if (reason !== 'run_ended') throw new CommandError(`the server closed the stream: ${reason.replaceAll('_', ' ')}.`);
    return true;
  }

  completeWith(steps: readonly RemoteStep[], parents: readonly number[] = []): void {
    steps.forEach((step, index) => {
      const path = [...parents, index];
      step.messages.forEach((message, messageIndex) => {
        const value = { path, message_index: messageIndex, message };
        if (this.isNew(value)) this.print('conversation', value);
      });
      this.completeWith(step.steps, path);
    });
    if (parents.length === 0) this.printer.completeLine();
  }

  private timeline({ event_type: type, payload }: TimelineEvent): void {
    if (type === 'followup_received' && payload?.['followup_id'] === this.options.followupId)
      this.awaitsFollowup = false;
    else if (TURN_ENDS.has(type) && !this.awaitsFollowup) this.hasTurnEnded = true;
  }

  private isNew({ path, message_index: index, message }: ConversationEvent): boolean {
    const [place, text] = [`${path.join('.')}/${index}`, JSON.stringify(message)];
    if (this.messages.get(place) === text) return false;
    this.messages.set(place, text);
    return true;
  }

  private print(event: string | undefined, value: unknown): void {
    if (this.options.json === true) process.stdout.write(`${JSON.stringify({ event, data: value })}\n`);
    else if (event === 'state') this.printer.state(value as StateEvent);
    else if (event === 'timeline') this.printer.timeline(value as TimelineEvent);
    else if (event === 'conversation') this.printer.conversation(value as ConversationEvent);
  }
}

/** No steps when the run has no conversation, or one whose format has no normalized form. */
async function conversationOf(api: ApiClient, runId: string): Promise<readonly RemoteStep[]> {
  try {
    return (await api.get<{ steps: RemoteStep[] }>(runPath(runId, '/conversation'))).steps;
  } catch (error) {
    if (error instanceof ApiError && [404, 422].includes(error.status)) return [];
    throw error;
  }
}

function isTransient(error: unknown): boolean {
  if (error instanceof ApiError) return error.status === 429 || error.status >= 500;
  // A connection that breaks is a TypeError of undici; one that is refused has it as the cause of a CommandError.
  return error instanceof TypeError || (error instanceof CommandError && error.cause !== undefined);
}
