/**
 * The reason of a failure: `invalid` and `not_allowed` are errors of the caller; `empty` is a repository without commits;
 * `damaged` is a copy on disk that is broken; `unavailable` may be temporary.
 */
type GitFailureReason =
  | 'invalid'
  | 'not_allowed'
  | 'authentication'
  | 'not_found'
  | 'ref_not_found'
  | 'empty'
  | 'too_large'
  | 'timeout'
  | 'aborted'
  | 'damaged'
  | 'unavailable'
  | 'failed';

/** Git could not do it. The message is for a person and holds no credential; `output` is the end of what git said. */
export class GitFailure extends Error {
  constructor(
    readonly reason: GitFailureReason,
    message: string,
    readonly exitCode = 128,
    readonly output = '',
  ) {
    super(message);
    this.name = 'GitFailure';
  }
}

const PATTERNS: readonly (readonly [GitFailureReason, RegExp])[] = [
  [
    'authentication',
    /Authentication failed|could not read (Username|Password)|Access denied|requested URL returned error: 40[13]|Permission denied \(|Host key verification failed/i,
  ],
  ['not_allowed', /requested URL returned error: 30\d/i],
  ['ref_not_found', /couldn't find remote ref|no such remote ref|not our ref|does not allow request for unadvertised/i],
  [
    'damaged',
    /bad object|corrupt|missing (blob|tree|commit)|not a valid object|inflate|bad tree|index-pack failed|unable to (read|parse|find)|packfile|loose object|did not send all necessary objects|not a git repository: |shallow file/i,
  ],
  [
    'not_found',
    /repository .*not found|does not appear to be a git repository|returned error: 404|not a git repository/i,
  ],
  ['unavailable', /unable to access|could not resolve|connection (refused|timed out|reset|closed)|early EOF|hung up/i],
];

/** Reads the reason off what git says in English. */
export function reasonOf(stderr: string): GitFailureReason {
  return PATTERNS.find(([, pattern]) => pattern.test(stderr))?.[0] ?? 'failed';
}
