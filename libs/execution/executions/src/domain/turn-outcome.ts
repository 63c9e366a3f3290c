import { isUuid, truncateUtf8 } from '#platform/kernel';
import {
  AGENT_FAILURE_CODES,
  type ReceivedRunnerEvent,
  STOP_REASONS,
  type TurnEnded,
} from '#execution/runner-protocol';
import type { StatusMessage } from './run.js';

const MAX_MESSAGE_BYTES = 16_384;

/** A message about a run that a runner or a worker reports, in a length that lists of runs can show. */
export const limitMessage = (message: string): string => truncateUtf8(message, MAX_MESSAGE_BYTES).text;

export interface EventFault {
  readonly field: string;
  /** Completes "`field` …"; never repeats the value. */
  readonly detail: string;
}

/** Null when the fields by which an event moves a run are valid. Other fields may have any value. */
export function eventFault({ kind, data }: Pick<ReceivedRunnerEvent, 'kind' | 'data'>): EventFault | null {
  switch (kind) {
    case 'turn_started': {
      const { followup_id: id } = data;
      if (id === undefined || (typeof id === 'string' && isUuid(id))) return null;
      return { field: 'followup_id', detail: 'must be a UUID' };
    }
    case 'turn_ended':
      if (STOP_REASONS.some((known) => known === data['stop_reason'])) return null;
      return { field: 'stop_reason', detail: `must be one of ${STOP_REASONS.join(', ')}` };
    default:
      return null;
  }
}

export type TurnOutcome =
  | { readonly transition: 'succeed'; readonly status?: StatusMessage }
  | { readonly transition: 'fail'; readonly status: StatusMessage }
  | { readonly transition: 'none' };

const REFUSALS = {
  refusal: 'The agent refused to continue.',
  max_tokens: 'The agent reached the token limit of its model before the turn was finished.',
  max_turn_requests: 'The agent made more model requests than one turn allows.',
} as const;

/**
 * What the end of a turn means for the run. `isInterrupted`: a user has interrupted this turn, and the session continues. A turn
 * that was cancelled otherwise moves nothing: who cancelled has moved the run already.
 */
export function turnOutcome(turn: Omit<TurnEnded, 'turn_id'>, isInterrupted = false): TurnOutcome {
  switch (turn.stop_reason) {
    case 'end_turn':
      return typeof turn.notice === 'string' && turn.notice !== ''
        ? { transition: 'succeed', status: { message: limitMessage(turn.notice) } }
        : { transition: 'succeed' };
    case 'cancelled':
      return isInterrupted
        ? { transition: 'succeed', status: { message: 'The last turn was interrupted.' } }
        : { transition: 'none' };
    case 'refusal':
    case 'max_tokens':
    case 'max_turn_requests':
      return { transition: 'fail', status: failed(turn, REFUSALS[turn.stop_reason]) };
    case 'error':
      return { transition: 'fail', status: failed(turn, 'The agent ended with an error.') };
  }
}

/** Runners report what they like: a field of another type counts as absent. */
function failed(
  { message, error_code: code, retryable, detail }: Omit<TurnEnded, 'turn_id'>,
  usual: string,
): StatusMessage {
  return {
    message: typeof message === 'string' ? limitMessage(message) : usual,
    error_code: AGENT_FAILURE_CODES.find((known) => known === code) ?? 'agent_process_failed',
    retryable: retryable === true,
    ...(typeof detail === 'string' && detail !== '' ? { detail: limitMessage(detail) } : {}),
  };
}

/**
 * Transition of an external run in progress when its execution ends. Only the caller who registered it could execute it again.
 * `isLost`: nothing reported about it any more. `hasMore`: its session had ended its turn, and a message waits.
 */
export function afterExternal({ reason, isLost, hasMore }: { reason: string; isLost: boolean; hasMore: boolean }) {
  if (reason === 'cancelled') {
    const status: StatusMessage = { message: 'Cancelled where it was executed.', retryable: false };
    return { transition: 'cancel', status } as const;
  }
  if (hasMore) return { transition: 'requeue', status: null } as const;
  const message = isLost
    ? 'The machine that executed the run went silent.'
    : 'The execution ended while the run was in progress.';
  const status: StatusMessage = { message, error_code: 'infrastructure_timeout', retryable: true };
  return { transition: 'give_up', status } as const;
}
