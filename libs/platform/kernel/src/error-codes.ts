/**
 * The catalogue of machine-readable error codes: one row a code, one documentation page a row
 * (`${PUBLIC_URL}/problems/{code}`). Source: the API contract's `ErrorCode`.
 */
export interface ErrorCodeFacts {
  /** HTTP status, or null for a code that appears on a run only. */
  readonly status: number | null;
  readonly title: string;
  readonly retryable: boolean;
  /** What the documentation page says: cause and remedy. */
  readonly explanation: string;
}

const facts = (status: number | null, title: string, retryable: boolean, explanation: string): ErrorCodeFacts => ({
  status,
  title,
  retryable,
  explanation,
});

export const ERROR_CODES = {
  invalid_request: facts(
    400,
    'The request is not valid',
    false,
    'A field, parameter or the body breaks a rule. `detail` and `errors[].pointer` name the place; correct it and send again.',
  ),
  authentication_required: facts(
    401,
    'Authentication is required',
    false,
    'The bearer token is missing, malformed, unknown, expired or revoked. Send `Authorization: Bearer <token>` with a live token.',
  ),
  not_authorized: facts(
    403,
    'Not permitted',
    false,
    'The caller is known but may not do this: the resource belongs to somebody else, or the role does not allow the action.',
  ),
  feature_not_available: facts(
    403,
    'The feature is not available',
    false,
    'The feature is switched off for this team or installation.',
  ),
  insufficient_credits: facts(
    403,
    'Not enough credits',
    false,
    'The account has no credits left for this. On a run: the account of its agent at the model provider has none.',
  ),
  budget_exceeded: facts(
    403,
    'The budget is exceeded',
    false,
    'A ceiling of cost, tokens or time set for the run was reached.',
  ),
  content_policy_violation: facts(403, 'Refused by the content policy', false, 'The content was refused by policy.'),
  integration_disabled: facts(
    403,
    'The integration is disabled',
    false,
    'An integration that this needs is switched off.',
  ),
  integration_not_configured: facts(
    403,
    'The integration is not configured',
    false,
    'An integration that this needs has not been set up.',
  ),
  external_authentication_required: facts(
    403,
    'External authentication is required',
    false,
    'An outside service asks for a sign-in first. On a run: its model provider requires valid credentials; check the secret that `harness_auth_secrets` names.',
  ),
  resource_not_found: facts(
    404,
    'Not found',
    false,
    'Nothing exists at this address, or nothing that the caller may know of.',
  ),
  conflict: facts(
    409,
    'The resource is busy',
    true,
    'The resource is changing state at this moment. Wait a moment and send the same request again.',
  ),
  operation_not_supported: facts(
    422,
    'The operation is not supported',
    false,
    'The resource exists, but its kind does not support this operation.',
  ),
  environment_setup_failed: facts(
    null,
    'The environment could not be set up',
    false,
    'A set-up command of the environment failed. The run timeline shows the command, its exit code and its output.',
  ),
  agent_process_failed: facts(
    null,
    'The agent failed',
    false,
    'The agent process ended by itself with an error, could not be started, or refused to continue.',
  ),
  infrastructure_timeout: facts(
    null,
    'The execution was lost',
    true,
    'The worker that executed the run went silent. What the agent did until then may have had effects; start the run again when that is acceptable.',
  ),
  rate_limited: facts(
    429,
    'Too many requests',
    true,
    'The rate limit is used up. Wait for the seconds that `Retry-After` says. On a run: the rate limit of its model provider; start the run again later.',
  ),
  payload_too_large: facts(
    413,
    'The request body is too large',
    false,
    'The body is larger than the limit of this operation.',
  ),
  resource_unavailable: facts(
    503,
    'Temporarily unavailable',
    true,
    'A part that this needs, such as the database, does not answer at the moment. Try again shortly.',
  ),
  method_not_allowed: facts(
    405,
    'The method is not allowed',
    false,
    'The address exists, but not for this HTTP method. `Allow` lists the ones it takes.',
  ),
  request_timeout: facts(408, 'The request took too long', true, 'The request did not arrive in time. Send it again.'),
  lease_lost: facts(
    412,
    'The lease is lost',
    false,
    'The execution was ended or taken over. The runner must stop its agent at once.',
  ),
  unsupported_media_type: facts(
    415,
    'The media type is not supported',
    false,
    'Send `Content-Type: application/json`, without a content encoding.',
  ),
  idempotency_key_reused: facts(
    422,
    'The idempotency key was used for another request',
    false,
    'The same `Idempotency-Key` came with another body before. Use a new key for a new request.',
  ),
  limit_reached: facts(
    403,
    'A limit is reached',
    false,
    'The number of resources of this kind is limited and the limit is reached.',
  ),
  headers_too_large: facts(431, 'The request headers are too large', false, 'Send fewer or shorter headers.'),
  internal_error: facts(500, 'Internal error', true, 'A fault on our side. The trace id finds it in the logs.'),
} as const satisfies Record<string, ErrorCodeFacts>;

export type ErrorCode = keyof typeof ERROR_CODES;

export function isErrorCode(value: string): value is ErrorCode {
  return Object.hasOwn(ERROR_CODES, value);
}
