import { number } from './fields.js';

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

/** Providers answer it with the status of a rate limit. */
const NO_CREDITS =
  /insufficient[_ ]quota|credit balance|out of credits|no credits|credits are depleted|plan and billing|budget has been exceeded|exceeded ?budget|(?:over|crossed) budget/i;
/** Some describe a limit of requests per minute or day in the words of an empty account, and say when it ends. */
const LIMIT_WITH_END = /\b(?:try again|retry|reset(?:s)?) (?:in|after|at)\b|rate[- ]?limit/i;

/** Words about something other than the model. The text of the agent then says more than a kind. */
const NOT_OF_MODEL: readonly RegExp[] = [
  /\bMCP\b/i,
  /^tool\b|\btools? (?:["'`]|(?:call|execution|server|result)\b)/im,
  /\b(?:disk|file ?system|storage|inode) quota\b|no space left/i,
  /\bE(?:ACCES|ADDRINUSE|DQUOT|EXIST|ISDIR|MFILE|NOENT|NOSPC|NOTDIR|PERM|ROFS)\b|\(os error (?:1|2|13|17|20|21|24|28|30|122)\)/,
  /no such file|: permission denied(?<=[/\\]\S{0,300}: permission denied)|(?:cannot|could not|failed to|unable to) (?:access|create|open|read|write) \S*[/\\]/i,
  /(?:^|: )remote: |\bgit (?:clone|fetch|ls-remote|pull|push)\b|\.git(?=['"/\s:]|$)|could not read (?:username|password)/im,
];

/** Prefixes of a message that consists of one word. */
const ALONE = String.raw`^(?:[a-z ]*error: )*`;

const BY_TEXT: readonly (readonly [RegExp, FailureKind])[] = [
  // Adapters describe the end of their program so.
  [
    /connection to (?:claude|codex) was lost|\bprocess (?:died|crashed|exited unexpectedly|terminated by signal)/i,
    'crash',
  ],
  [
    /rate.?limit|too many requests|overloaded|resource.exhausted|insufficient[_ ]quota|quota (?:exceeded|exhausted|reached|limit)|(?:exceeded|exhausted|reached|over) (?:your |the )?(?:\w+ ){0,2}quota\b/i,
    'rate_limit',
  ],
  [
    /unauthori[sz]ed|authentication[_ ](?:error|fail|is required|method|required)|(?:invalid|not) authenticat|failed to authenticate|api[- _]?key|(?:bad|expired|find|incorrect|invalid|load|missing|no|revoked|valid|wrong) (?:\w+ ){0,2}credentials?\b|credentials? (?:are|is|was|were|has|have) /i,
    'credentials',
  ],
  [/\bmodel\b.{0,120}(?:not found|not exist|unknown|not supported)|(?:unknown|no such) model/i, 'unknown_model'],
  [
    new RegExp(
      [
        /ECONN(?:ABORTED|REFUSED|RESET)|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EPIPE/,
        /fetch failed|error sending request|other side closed|network (?:error|is unreachable|connection)|socket (?:closed|connection|error|hang ?up|timeout)/,
        /stream (?:closed|disconnected|ended)|disconnected (?:before|from)|(?:cannot|could not|unable to|failed to) connect\b/,
        /connection (?:aborted|closed|dropped|error|failed|interrupted|lost|refused|reset|terminated|to the (?:api|model|server)|was (?:closed|lost|reset))/,
        /(?:api|body|connect|connection|headers|idle|provider|request|response|server|stream)(?: was)?(?: aborted due to)? tim(?:e|ed) ?out|aborted due to timeout/,
        new RegExp(`${ALONE}(?:terminated|connection|timed? ?out)[.!]?$`),
      ]
        .map(({ source }) => source)
        .join('|'),
      'im',
    ),
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

export const isOutsideModel = (message: string): boolean => NOT_OF_MODEL.some((words) => words.test(message));

/** @param status HTTP status of the provider's answer, where the agent reports it as a number. */
export function failureKind(message: string, status?: number): FailureKind {
  if ((status === undefined || status >= 500) && isOutsideModel(message)) return 'other';
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
