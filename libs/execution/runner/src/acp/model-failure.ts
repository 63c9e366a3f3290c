import { parseJson } from '#platform/kernel';
import type { AgentFailureCode, AgentFailureReport } from '#execution/runner-protocol';
import { fields, items, number, text } from './fields.js';

/** Failures between an agent and its model. `other`: not known to concern the model. `crash`: of the program behind an adapter. */
export type FailureKind =
  | 'rate_limit'
  | 'credentials'
  | 'credits'
  | 'unknown_model'
  | 'connection'
  | 'provider_error'
  | 'crash'
  | 'other';

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

/** Providers answer it with the status of a rate limit. */
const NO_CREDITS =
  /insufficient[_ ]quota|credit balance|out of credits|no credits|credits are depleted|plan and billing|budget has been exceeded|exceeded ?budget|(?:over|crossed) budget/i;
/** Some describe a limit of requests per minute or day in the words of an empty account, and say when it ends. */
const LIMIT_WITH_END = /\b(?:try again|retry|reset(?:s)?) (?:in|after|at)\b|rate[- ]?limit/i;

const BY_TEXT: readonly (readonly [RegExp, FailureKind])[] = [
  // Adapters describe the end of their program so.
  [
    /connection to (?:claude|codex) was lost|\bprocess (?:died|crashed|exited unexpectedly|terminated by signal)/i,
    'crash',
  ],
  [/rate.?limit|too many requests|overloaded|quota|resource.exhausted/i, 'rate_limit'],
  [/unauthori[sz]ed|authenticat|api[- _]?key|credential/i, 'credentials'],
  [/\bmodel\b.{0,120}(?:not found|not exist|unknown|not supported)|(?:unknown|no such) model/i, 'unknown_model'],
  [
    /E(?:CONN|NOTFOUND|AI_AGAIN|TIMEDOUT|PIPE)|socket|fetch failed|terminated|disconnect|connection|(?:cannot|could not|unable to) connect|timed? ?out/i,
    'connection',
  ],
  [/server(?: had an?)? error|service unavailable|bad gateway/i, 'provider_error'],
];

/** An HTTP status where vendors write it: at the beginning, in parentheses, or behind the word. */
const STATUS = /(?:^|\(|\bstatus(?: code)?:? |\bHTTP |\berror:? )([45]\d\d)\b/i;

const byStatus = (status: number): FailureKind | undefined => {
  if (status === 401 || status === 403) return 'credentials';
  if (status === 402) return 'credits';
  if (status === 429 || status === 529) return 'rate_limit';
  if (status === 404) return 'unknown_model';
  return undefined;
};

/** @param status HTTP status of the provider's answer, where the agent reports it as a number. */
export function failureKind(message: string, status?: number): FailureKind {
  if (NO_CREDITS.test(message) && !LIMIT_WITH_END.test(message)) return 'credits';
  const reported = status ?? number(Number(STATUS.exec(message)?.[1] ?? Number.NaN));
  const known = reported === undefined ? undefined : byStatus(reported);
  if (known !== undefined) return known;
  const meant = BY_TEXT.find(([words]) => words.test(message))?.[1];
  return meant ?? (reported !== undefined && reported >= 500 ? 'provider_error' : 'other');
}

/** Failure types of vendors. Types that are not listed are less precise than the message. */
const VENDOR_KINDS: Readonly<Record<string, FailureKind>> = {
  authentication_failed: 'credentials',
  oauth_org_not_allowed: 'credentials',
  rate_limit: 'rate_limit',
  overloaded: 'rate_limit',
  billing_error: 'credits',
  account_on_hold: 'credits',
  model_not_found: 'unknown_model',
};

export const vendorKind = (word: unknown): FailureKind | undefined =>
  typeof word === 'string' && Object.hasOwn(VENDOR_KINDS, word) ? VENDOR_KINDS[word] : undefined;

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
  if (byText !== 'other') return byText;
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

const STACK_FRAME = /^\s*(?:at .*(?::\d+:\d+\)?|\((?:native|<anonymous>|index .*)\))|File ".*", line \d+.*)$/;
/** `[session/create] phase=… durationMs=124`, `[perf] …`: what an agent logs about itself. Errors stay. */
const DIAGNOSTIC = /^\[[a-z][\w/-]*\] /i;
const ERROR_WORDS = /\b(?:error|fail|cannot|could not|denied|refused)/i;
/** Absolute paths of at least two segments; those of a URL follow a host. */
const PATH = /(?<![\w:/.])(?:file:\/\/)?(?:\/[\w.@+~-]+)+\/([\w.@+~-]+)/g;

const COLOUR = /\u001b\[[0-9;]*m/g;

/** The text without stack frames, absolute paths, terminal colours and diagnostics of the agent. */
export function withoutInternals(output: string): string {
  return output
    .replace(COLOUR, '')
    .split('\n')
    .filter((line) => !STACK_FRAME.test(line) && (!DIAGNOSTIC.test(line) || ERROR_WORDS.test(line)))
    .map((line) => line.replace(PATH, '$1').trimEnd())
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
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
