/** One documentation page a row (`${PUBLIC_URL}/problems/{code}`). Source: the API contract's `ErrorCode`. */
export interface ErrorCodeFacts {
  /** HTTP status, or null for a code that appears on a run only. */
  readonly status: number | null;
  readonly title: string;
  readonly retryable: boolean;
  /** What the documentation page says: cause and remedy. */
  readonly explanation: string;
}

const failure = (status: number | null, title: string, explanation: string): ErrorCodeFacts => ({
  status,
  title,
  retryable: false,
  explanation,
});

const retryable = (status: number | null, title: string, explanation: string): ErrorCodeFacts => ({
  ...failure(status, title, explanation),
  retryable: true,
});

export const ERROR_CODES = {
  invalid_request: failure(
    400,
    'The request is not valid',
    'A field, parameter or the body breaks a rule. `detail` and `errors[].pointer` name the place; correct it and send again.',
  ),
  authentication_required: failure(
    401,
    'Authentication is required',
    'The bearer token is missing, malformed, unknown, expired or revoked. Send `Authorization: Bearer <token>` with a live token.',
  ),
  not_authorized: failure(
    403,
    'Not permitted',
    'The caller is known but may not do this: the resource belongs to another user or team, or the role does not allow the action.',
  ),
  feature_not_available: failure(
    403,
    'The feature is not available',
    'The feature is switched off for this team or installation.',
  ),
  insufficient_credits: failure(
    403,
    'Not enough credits',
    'The account has no credits left for this. On a run: the account of its agent at the model provider has none.',
  ),
  budget_exceeded: failure(
    403,
    'The budget is exceeded',
    'A ceiling of cost, tokens or time set for the run was reached.',
  ),
  content_policy_violation: failure(403, 'Refused by the content policy', 'The content was refused by policy.'),
  integration_disabled: failure(403, 'The integration is disabled', 'An integration that this needs is switched off.'),
  integration_not_configured: failure(
    403,
    'The integration is not configured',
    'An integration that this needs has not been set up.',
  ),
  external_authentication_required: failure(
    403,
    'External authentication is required',
    'An outside service asks for a sign-in first. On a run: its model provider requires valid credentials; check the secret that `harness_auth_secrets` names.',
  ),
  resource_not_found: failure(
    404,
    'Not found',
    'Nothing exists at this address, or nothing that the caller may know of.',
  ),
  conflict: retryable(
    409,
    'The resource is busy',
    'The resource is changing state at this moment. Wait a moment and send the same request again.',
  ),
  operation_not_supported: failure(
    422,
    'The operation is not supported',
    'The resource exists, but its kind does not support this operation.',
  ),
  environment_setup_failed: failure(
    null,
    'The environment could not be set up',
    'A set-up command of the environment failed. The run timeline shows the command, its exit code and its output.',
  ),
  agent_process_failed: failure(
    null,
    'The agent failed',
    'The agent process ended by itself with an error, could not be started, or refused to continue.',
  ),
  agent_stream_network_error: retryable(
    null,
    'The response of the model was interrupted',
    'The connection to the model broke while the agent read its response. Start the run again.',
  ),
  agent_stream_failure: retryable(
    null,
    'The model server reported a failure',
    'The model server ended its response with an error. Start the run again later.',
  ),
  infrastructure_timeout: retryable(
    null,
    'The execution was lost',
    'The worker that executed the run went silent. What the agent did until then may have had effects; start the run again when that is acceptable.',
  ),
  rate_limited: retryable(
    429,
    'Too many requests',
    'The rate limit is used up. Wait for the seconds that `Retry-After` says. On a run: the rate limit of its model provider; start the run again later.',
  ),
  payload_too_large: failure(
    413,
    'The request body is too large',
    'The body is larger than the limit of this operation.',
  ),
  resource_unavailable: retryable(
    503,
    'Temporarily unavailable',
    'A part that this needs, such as the database, does not answer at the moment. Try again shortly.',
  ),
  method_not_allowed: failure(
    405,
    'The method is not allowed',
    'The address exists, but not for this HTTP method. `Allow` lists the ones it takes.',
  ),
  request_timeout: retryable(408, 'The request took too long', 'The request did not arrive in time. Send it again.'),
  lease_lost: failure(
    412,
    'The lease is lost',
    'The execution was ended or taken over. The runner must stop its agent at once.',
  ),
  unsupported_media_type: failure(
    415,
    'The media type is not supported',
    'Send `Content-Type: application/json`, without a content encoding.',
  ),
  idempotency_key_reused: failure(
    422,
    'The idempotency key was used for another request',
    'The same `Idempotency-Key` came with another body before. Use a new key for a new request.',
  ),
  unknown_attachment: failure(
    422,
    'Unknown attachment',
    'An attachment was not prepared for this run, is not uploaded, or was sent before. Prepare it again.',
  ),
  limit_reached: failure(
    403,
    'A limit is reached',
    'The number of resources of this kind is limited and the limit is reached.',
  ),
  headers_too_large: failure(431, 'The request headers are too large', 'Send fewer or shorter headers.'),
  internal_error: retryable(500, 'Internal error', 'A fault on our side. The trace id finds it in the logs.'),
} as const satisfies Record<string, ErrorCodeFacts>;

export type ErrorCode = keyof typeof ERROR_CODES;

export function isErrorCode(value: string): value is ErrorCode {
  return Object.hasOwn(ERROR_CODES, value);
}
