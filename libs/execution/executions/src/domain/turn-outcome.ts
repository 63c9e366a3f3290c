import { AGENT_FAILURE_CODES, type TurnEnded } from '#execution/runner-protocol';
import type { StatusMessage } from './run.js';

export type TurnOutcome =
  { readonly move: 'succeed' } | { readonly move: 'fail'; readonly status: StatusMessage } | { readonly move: 'none' };

const REFUSALS = {
  refusal: 'The agent refused to go on.',
  max_tokens: 'The agent reached the token limit of its model before the turn was finished.',
  max_turn_requests: 'The agent made more model requests than one turn allows.',
} as const;

/** What the end of a turn means for the run. A cancelled turn moves nothing: who cancelled has moved the run already. */
export function turnOutcome(turn: Omit<TurnEnded, 'turn_id'>): TurnOutcome {
  switch (turn.stop_reason) {
    case 'end_turn':
      return { move: 'succeed' };
    case 'cancelled':
      return { move: 'none' };
    case 'refusal':
    case 'max_tokens':
    case 'max_turn_requests':
      return { move: 'fail', status: failed(turn, REFUSALS[turn.stop_reason]) };
    case 'error':
      return { move: 'fail', status: failed(turn, 'The agent ended with an error.') };
  }
}

/** Runners report what they like: a field of another type counts as absent. */
function failed(
  { message, error_code: code, retryable, detail }: Omit<TurnEnded, 'turn_id'>,
  usual: string,
): StatusMessage {
  return {
    message: typeof message === 'string' ? message : usual,
    error_code: AGENT_FAILURE_CODES.find((known) => known === code) ?? 'agent_process_failed',
    retryable: retryable === true,
    ...(typeof detail === 'string' && detail !== '' ? { detail } : {}),
  };
}
