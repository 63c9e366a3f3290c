import {
  forbidden,
  invalidCursor,
  invalidInput,
  limitReached,
  notFound,
  ProblemError,
  teamRequired,
} from '#platform/http';
import type { Refusal } from '../application/outcomes.js';

/** Answers to what a use case refuses. */
export function refusal(refused: Refusal): ProblemError {
  switch (refused.kind) {
    case 'unknown':
      return notFound('notification webhook');
    case 'not_yours':
      return forbidden('notification webhook');
    case 'team_needed':
      return teamRequired();
    case 'limit_reached':
      return limitReached('A team', refused.limit, 'notification webhooks');
    case 'bad_url':
      return invalidInput([{ pointer: '/url', detail: refused.rule }]);
    case 'bad_cursor':
      return invalidCursor('these deliveries');
    case 'test_pending':
      return new ProblemError('conflict', 'A test of this webhook is still on its way.');
  }
}
