import type { TurnEnded } from '#libs/runner-protocol';
import type { StatusMessage } from './run.js';

export type TurnOutcome =
  { readonly move: 'succeed' } | { readonly move: 'fail'; readonly status: StatusMessage } | { readonly move: 'none' };

const REFUSALS = {
  refusal: 'The agent refused to go on.',
  max_tokens: 'The agent reached the token limit of its model before the turn was finished.',
  max_turn_requests: 'The agent made more model requests than one turn allows.',
} as const;

/** What the end of a turn means for the run. A cancelled turn moves nothing: who cancelled has moved the run already. */
export function turnOutcome(turn: Pick<TurnEnded, 'stop_reason' | 'message'>): TurnOutcome {
  switch (turn.stop_reason) {
    case 'end_turn':
      return { move: 'succeed' };
    case 'cancelled':
      return { move: 'none' };
    case 'refusal':
    case 'max_tokens':
    case 'max_turn_requests':
      return { move: 'fail', status: failed(turn.message ?? REFUSALS[turn.stop_reason]) };
    case 'error':
      return { move: 'fail', status: failed(turn.message ?? 'The agent ended with an error.') };
  }
}

function failed(message: string): StatusMessage {
  return { message, error_code: 'agent_process_failed', retryable: false };
}
