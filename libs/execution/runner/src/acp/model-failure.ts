import { parseJson } from '#platform/kernel';
import type { AgentFailureCode, AgentFailureReport } from '#execution/runner-protocol';
import { fields, items, number, text } from './fields.js';

/** Failures between an agent and its model. `other`: not known to concern the model. */
export type FailureKind =
  | 'rate_limit'
  | 'credentials'
  | 'credits'
  | 'unknown_model'
  | 'connection'
  | 'provider_error'
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
const NO_CREDITS = /insufficient[_ ]quota|credit balance|out of credits|no credits/i;

const BY_TEXT: readonly (readonly [RegExp, FailureKind])[] = [
  [/rate.?limit|too many requests|overloaded|quota|resource.exhausted/i, 'rate_limit'],
  [/unauthori[sz]ed|authenticat|api[- _]?key|credential/i, 'credentials'],
  [/\bmodel\b.{0,120}(?:not found|not exist|unknown|not supported)|(?:unknown|no such) model/i, 'unknown_model'],
  [
    /E(?:CONN|NOTFOUND|AI_AGAIN|TIMEDOUT|PIPE)|socket|fetch failed|terminated|disconnect|connection|timed? ?out/i,
    'connection',
  ],
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
  if (NO_CREDITS.test(message)) return 'credits';
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
  return {
    severity: failure['severity'] === 'error' ? 'error' : 'warning',
    kind: kindOfCategory(category, items(failure['actions']), title),
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

/** `opening` replaces the sentence of a failure that is not known to concern the model. */
export function modelFailure(kind: FailureKind, output: string, opening = KINDS.other.sentence): AgentFailure {
  const { sentence, code = 'agent_process_failed', retryable } = KINDS[kind];
  const shown = vendorMessage(output);
  const message = sentenceOf(kind === 'other' ? opening : sentence, shown);
  return new AgentFailure(message, { error_code: code, retryable, ...detailFor(message, shown) });
}

/** What the run shows while the agent repeats a request that failed. `attempt`: such as "attempt 2 of 10". */
export function describeWaiting(
  kind: FailureKind,
  output: string,
  attempt?: string,
): { message: string; detail?: string } {
  const { sentence, waiting = `${sentence}; the agent repeats the request` } = KINDS[kind];
  const message = `${waiting}${attempt === undefined ? '' : ` (${attempt})`}.`;
  return { message, ...detailFor(message, vendorMessage(output)) };
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
