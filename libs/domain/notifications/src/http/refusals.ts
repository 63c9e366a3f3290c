import { ProblemError } from '#platform/http';
import type { Refusal } from '../application/outcomes.js';

/** Answers to what a use case refuses. */
export function refusal(refused: Refusal): ProblemError {
  switch (refused.kind) {
    case 'unknown':
      return new ProblemError('resource_not_found', 'Notification webhook not found.');
    case 'not_yours':
      return new ProblemError(
        'not_authorized',
        'The notification webhook belongs to a team that is not yours, or your role does not allow this.',
      );
    case 'team_needed':
      return new ProblemError(
        'invalid_request',
        'A team is needed: a user on several teams picks one with the X-Headrace-Team-Uid header.',
      );
    case 'limit_reached':
      return new ProblemError('limit_reached', `A team has at most ${refused.limit} notification webhooks.`);
    case 'bad_url':
      return new ProblemError('invalid_request', `\`url\` ${refused.rule}.`, {
        errors: [{ pointer: '/url', detail: refused.rule }],
      });
    case 'bad_cursor': {
      const detail = 'is not a cursor of these deliveries';
      return new ProblemError('invalid_request', `Query parameter \`cursor\` ${detail}.`, {
        errors: [{ pointer: '/cursor', detail }],
      });
    }
    case 'test_pending':
      return new ProblemError('conflict', 'A test of this webhook is still on its way.');
  }
}
