/** Below the API's base URL (`…/api/v1`); the name goes into the query as `worker_id`. */
export const WORKER_SOCKET_PATH = '/selfhosted/worker/ws';

/** Bytes of one frame, in both directions. */
export const MAX_FRAME_BYTES = 1_048_576;

/** Why the server closes a socket (RFC 6455). */
export const CLOSE_CODES = {
  /** The server goes down: come back, another one may be there already. */
  goingAway: 1001,
  /** No JSON object with a type, a binary frame, too many frames, or a token that does not count any more. */
  policyViolation: 1008,
  /** A frame of more than {@link MAX_FRAME_BYTES}. */
  tooBig: 1009,
} as const;

/**
 * Header of the upgrade request, with the value `1`: a hello will be the first frame, and nothing is to be offered before it.
 * Without it a worker is taken as ready, with any number of slots, from the start.
 */
export const HELLO_HEADER = 'x-headrace-worker-hello';

/** Names of the variables in a task_assignment's env_vars with which the runner calls back. */
export const EXECUTION_ENV = {
  executionId: 'HEADRACE_EXECUTION_ID',
  executionToken: 'HEADRACE_EXECUTION_TOKEN',
} as const;
