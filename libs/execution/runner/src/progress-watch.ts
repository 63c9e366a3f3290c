import type { AgentWaiting } from '#execution/runner-protocol';
import { type FailureKind, failureKind, vendorKind } from './acp/failure-kind.js';
import {
  AgentFailure,
  duration,
  modelFailure,
  repeatedFailure,
  describeWaiting,
  sessionFailureIn,
} from './acp/model-failure.js';
import type { PlainEvent } from './protocol/outgoing-events.js';
import { fields, number, text } from './acp/fields.js';

export interface ProgressWatchOptions {
  readonly timeoutMs: number;
  /** A tool call or a permission request is open: the agent may wait for it without limit. */
  readonly isBusy: () => boolean;
  readonly emit: (event: PlainEvent) => void;
}

const MAX_NOTICE_MS = 60_000;

/** Agents retry failing requests for minutes, most of them without a message. */
export class ProgressWatch {
  private progressAt = 0;
  private timer: NodeJS.Timeout | undefined;
  private shown: string | null = null;
  private lastRetry: RetryNotice | null = null;
  private readonly noticeMs: number;

  constructor(private readonly options: ProgressWatchOptions) {
    this.noticeMs = Math.min(MAX_NOTICE_MS, options.timeoutMs / 2);
  }

  /** Begins a turn. Rejects with AgentFailure when the turn makes no progress for too long, and never resolves. */
  start(): Promise<never> {
    this.stop();
    this.progressAt = performance.now();
    this.shown = null;
    this.lastRetry = null;
    const expired = new Promise<never>((_resolve, reject) => {
      this.timer = setInterval(() => {
        const failure = this.check();
        if (failure) reject(failure);
      }, this.noticeMs / 4);
    });
    expired.catch(() => undefined);
    return expired;
  }

  stop(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  progress(): void {
    this.progressAt = performance.now();
    this.lastRetry = null;
    if (this.shown !== null) this.options.emit({ kind: 'agent_resumed', data: {} });
    this.shown = null;
  }

  retry(notice: RetryNotice): void {
    this.lastRetry = notice;
    const { kind: _kind, ...waiting } = notice;
    if (this.timer) this.show(waiting);
  }

  private check(): AgentFailure | null {
    if (this.options.isBusy()) this.progressAt = performance.now();
    const idleMs = performance.now() - this.progressAt;
    if (idleMs >= this.options.timeoutMs) {
      this.stop();
      return this.failure();
    }
    if (idleMs >= this.noticeMs && this.shown === null)
      this.show({
        message: `The agent has reported nothing for ${duration(this.noticeMs)}; it may be waiting for its model provider.`,
      });
    return null;
  }

  private show(waiting: AgentWaiting): void {
    if (this.shown === waiting.message) return;
    this.shown = waiting.message;
    this.options.emit({ kind: 'agent_waiting', data: { ...waiting } });
  }

  private failure(): AgentFailure {
    const time = duration(this.options.timeoutMs);
    const { kind, detail = '' } = this.lastRetry ?? {};
    if (kind !== undefined && kind !== 'other') return repeatedFailure(kind, detail, time);
    const opening = `The agent made no progress for ${time} (AGENT_PROGRESS_TIMEOUT)`;
    const { message, report } = modelFailure('other', '', opening);
    return new AgentFailure(message, { ...report, retryable: true });
  }
}

export interface RetryNotice {
  readonly kind: FailureKind;
  readonly message: string;
  readonly detail?: string;
}

/** From a `session/update`: a typed failure that the agent still retries. */
export function retryInUpdate(update: unknown): RetryNotice | null {
  const failure = sessionFailureIn(fields(update)['_meta']);
  if (failure === null || failure.severity === 'error' || failure.isAdvice) return null;
  const [, count, attempts] = /\b(\d+)(?:\/| of )(\d+)\b/.exec(failure.title) ?? [];
  const attempt = count === undefined ? undefined : `attempt ${count} of ${attempts}`;
  return {
    kind: failure.kind,
    ...describeWaiting(failure.kind, attempt === undefined ? failure.title : '', { attempt }),
  };
}

/** From a vendor-specific notification: `api_retry` of Claude Code, which `session_meta` enables. */
export function retryInNotification(method: unknown, params: unknown): RetryNotice | null {
  if (method !== '_claude/sdkMessage') return null;
  const message = fields(fields(params)['message']);
  const { subtype, attempt: count, max_retries: attempts, error_status: status, error } = message;
  if (subtype !== 'api_retry') return null;
  const known = number(status);
  const kind = vendorKind(error) ?? (known === undefined ? 'connection' : failureKind(text(error) ?? '', known));
  const attempt = `attempt ${String(count)} of ${String(attempts)}`;
  return { kind, ...describeWaiting(kind, '', { attempt, delayMs: number(message['retry_delay_ms']) }) };
}

/** Agents that repeat requests of these kinds; after the others they end the turn. */
const REPEATED: readonly FailureKind[] = ['rate_limit', 'credits', 'connection', 'provider_error'];
/** An agent may log lines without limit; what these readers look for is at the beginning. */
const MAX_LOG_LINE = 8_192;

/** Where an agent reports repeated requests in no other way than by a line of its log. */
const LOG_READERS: Readonly<Record<string, (line: string) => RetryNotice | null>> = {
  opencode: failedRequest,
  qwen: waitingForCapacity,
};

export function retryInLog(harness: string, line: string): RetryNotice | null {
  const read = Object.hasOwn(LOG_READERS, harness) ? LOG_READERS[harness] : undefined;
  return read?.(line.slice(0, MAX_LOG_LINE)) ?? null;
}

const STREAM_ERROR = 'message="stream error"';
const ERROR_FIELD = ' error.error="';

/** `message="stream error" … error.error="…"` */
function failedRequest(line: string): RetryNotice | null {
  const message = line.indexOf(STREAM_ERROR);
  const field = message < 0 ? -1 : line.indexOf(ERROR_FIELD, message + STREAM_ERROR.length);
  if (field < 0) return null;
  const [output] = /^(?:[^"\\]|\\.)*/.exec(line.slice(field + ERROR_FIELD.length)) ?? [''];
  const kind = failureKind(output);
  return REPEATED.includes(kind) ? { kind, ...describeWaiting(kind, output) } : null;
}

/** In the unattended mode. */
function waitingForCapacity(line: string): RetryNotice | null {
  const [, wait, count] =
    /^\[qwen-code\] (Waiting for API capacity\.\.\. attempt (\d+), retry in \d+s)/.exec(line) ?? [];
  if (wait === undefined) return null;
  return { kind: 'rate_limit', ...describeWaiting('rate_limit', wait, { attempt: `attempt ${count}` }) };
}
