import { parseJson } from '#platform/kernel';
import type { AgentFailureCode, AgentFailureReport } from '#execution/runner-protocol';
import { type FailureKind, failureKind, isOutsideModel } from './failure-kind.js';
import { fields, items, text } from './fields.js';
import { withoutInternals } from './shown-text.js';

interface KindFacts {
  readonly sentence: string;
  /** While the agent repeats the request. Default: the sentence, and that the request is repeated. */
  readonly waiting?: string;
  readonly code?: AgentFailureCode;
  readonly retryable: boolean;
}

const KINDS: Readonly<Record<FailureKind, KindFacts>> = {
  rate_limit: {
    sentence: 'The model provider limits the rate of requests',
    waiting: 'The agent waits for the rate limit of its model provider',
    code: 'rate_limited',
    retryable: true,
  },
  credentials: {
    sentence: 'The model provider requires valid credentials',
    waiting: 'The model provider rejects the credentials; the agent repeats the request',
    code: 'external_authentication_required',
    retryable: false,
  },
  credits: {
    sentence: 'The account at the model provider has no credits left',
    code: 'insufficient_credits',
    retryable: false,
  },
  unknown_model: { sentence: 'The model provider does not offer the model', retryable: false },
  connection: {
    sentence: 'The connection to the model provider failed',
    waiting: 'The agent reconnects to its model provider',
    retryable: true,
  },
  provider_error: { sentence: 'The model provider reported an error', retryable: true },
  crash: { sentence: 'The agent crashed', retryable: true },
  other: { sentence: 'The agent could not finish the turn', waiting: 'The agent repeats a request', retryable: false },
};

/** A failure of the agent; the message is for the person who started the run. */
export class AgentFailure extends Error {
  constructor(
    message: string,
    readonly report: Omit<AgentFailureReport, 'message'> & { readonly exitCode?: number } = {},
    cause?: unknown,
  ) {
    super(message, { cause });
  }
}

/** A failure that an agent reports with its type: `_meta.jetbrains.air.sessionFailure`. */
export interface SessionFailure {
  readonly severity: 'error' | 'warning';
  readonly kind: FailureKind;
  readonly title: string;
  /** A note, not a failure. */
  readonly isAdvice: boolean;
}

/** The typed failure in the `_meta` of an update or of the answer to a prompt, or null. */
export function sessionFailureIn(meta: unknown): SessionFailure | null {
  const failure = fields(fields(fields(fields(meta)['jetbrains'])['air'])['sessionFailure']);
  const title = text(failure['title']);
  if (title === undefined) return null;
  const category = text(failure['category']);
  const isRepeated = failure['severity'] !== 'error';
  return {
    severity: isRepeated ? 'warning' : 'error',
    // The agent repeats the request: its account has credits.
    kind:
      isRepeated && category === 'limit' ? 'rate_limit' : kindOfCategory(category, items(failure['actions']), title),
    title: [title, text(failure['details'])].filter(Boolean).join('\n'),
    isAdvice: category === 'unknown' || category === undefined,
  };
}

/** Categories are coarse: a missing key is a `service` failure, an unknown model a `connection` one. */
function kindOfCategory(category: string | undefined, actions: readonly unknown[], title: string): FailureKind {
  if (category === 'access') return 'credentials';
  const byText = failureKind(title);
  if (byText !== 'other' || isOutsideModel(title)) return byText;
  if (category === 'limit')
    return actions.includes('retry') ? 'rate_limit' : actions.length === 0 ? 'credits' : 'other';
  if (category === 'connection') return 'connection';
  return category === 'service' ? 'provider_error' : 'other';
}

const MAX_SENTENCE = 300;
const MAX_DETAIL = 4_000;
const EMPTY_WORDS = /^(?:internal error|authentication required|error)?[.:]?$/i;

/**
 * A sentence that says what happened, with the words of the vendor as its detail. Only a failure that is not known to concern the
 * model is described by them alone: `opening` is what it begins with.
 */
export function modelFailure(kind: FailureKind, output: string, opening = KINDS.other.sentence): AgentFailure {
  const { sentence, code = 'agent_process_failed', retryable } = KINDS[kind];
  const shown = vendorMessage(output);
  const again = kind === 'rate_limit' ? retryDelayMs(output) : undefined;
  const known = again === undefined ? `${sentence}.` : `${sentence}. It accepts them again in ${duration(again)}.`;
  const message = kind === 'other' ? sentenceOf(opening, shown) : known;
  return new AgentFailure(message, { error_code: code, retryable, ...detailFor(message, shown) });
}

/** The agent has repeated a request of the turn until its time was over. */
export function repeatedFailure(kind: FailureKind, detail: string, time: string): AgentFailure {
  const { sentence, code = 'agent_process_failed', retryable } = KINDS[kind];
  const message = `${sentence}. The agent made no progress for ${time} (AGENT_PROGRESS_TIMEOUT).`;
  return new AgentFailure(message, { error_code: code, retryable, ...detailFor(message, detail) });
}

export interface RetryFacts {
  /** Such as "attempt 2 of 10". */
  readonly attempt?: string | undefined;
  /** The time until the agent sends the request again. */
  readonly delayMs?: number | undefined;
}

/** Shorter waits are over before anybody has read of them. */
const MIN_SHOWN_DELAY_MS = 2_000;

/** What the run shows while the agent repeats a request that failed. */
export function describeWaiting(
  kind: FailureKind,
  output: string,
  { attempt, delayMs = retryDelayMs(output) }: RetryFacts = {},
): { message: string; detail?: string } {
  const { sentence, waiting = `${sentence}; the agent repeats the request` } = KINDS[kind];
  const isLong = delayMs !== undefined && delayMs >= MIN_SHOWN_DELAY_MS;
  const facts = [attempt, isLong ? `next attempt in ${duration(delayMs)}` : undefined].filter(Boolean).join(', ');
  const message = `${waiting}${facts === '' ? '' : ` (${facts})`}.`;
  return { message, ...detailFor(message, vendorMessage(output)) };
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
const DELAY =
  /\b(?:try again|retry|retrying|resets?) (?:in|after) (?:about )?(\d+(?:\.\d+)?) ?(ms|milliseconds?|s|sec|seconds?|m|min|minutes?|h|hours?)\b/i;

/** "Please retry in 34.07s", "try again in 20 minutes". */
function retryDelayMs(output: string): number | undefined {
  const [, count, unit = ''] = DELAY.exec(output) ?? [];
  if (count === undefined) return undefined;
  const isMilliseconds = /^m(?:s|illi)/i.test(unit);
  return Number(count) * (UNITS[isMilliseconds ? 'ms' : (unit[0] ?? 's').toLowerCase()] ?? 1_000);
}

/** In the largest unit of which there are at least two. */
export function duration(ms: number): string {
  const seconds = Math.ceil(ms / 1_000);
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.ceil(minutes / 60)} h`;
}

/** `detail`, where it adds information to the message. */
export function detailFor(message: string, detail: string): { detail?: string } {
  return detail === '' || EMPTY_WORDS.test(detail) || message.includes(detail)
    ? {}
    : { detail: detail.slice(0, MAX_DETAIL) };
}

function sentenceOf(opening: string, shown: string): string {
  const [line = ''] = shown.split('\n');
  const reason = line.length > MAX_SENTENCE ? `${line.slice(0, MAX_SENTENCE)}…` : line;
  if (EMPTY_WORDS.test(reason)) return `${opening}.`;
  return `${opening}: ${/[.!?…]$/.test(reason) ? reason : `${reason}.`}`;
}

/** The message within what vendors report: JSON as providers answer it, also behind or within another message. */
export function vendorMessage(output: string): string {
  const start = output.indexOf('{');
  const inner = start < 0 ? undefined : messageInJson(output.slice(start));
  const message = inner ?? output;
  return withoutInternals(message.replace(/^(?:(?:Internal error|API Error|Error|RequestError): )+/i, ''));
}

function messageInJson(json: string): string | undefined {
  const { error, message, errors } = fields(parseJson(json));
  const found =
    text(fields(error)['message']) ?? text(error) ?? text(message) ?? text(fields(items(errors)[0])['message']);
  return found === undefined ? undefined : vendorMessage(found);
}
