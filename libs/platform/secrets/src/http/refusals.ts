import { ProblemError } from '#platform/http';
import type { RemoveSecretResult } from '../application/managed-secrets.js';
import type { SetSecretResult } from '../application/team-secrets.js';

const RESERVED = 'must be `webhook`: names that begin with `webhook-` are for webhooks';

type Refusal = Exclude<SetSecretResult, { kind: 'set' }> | Exclude<RemoveSecretResult, { kind: 'removed' }>;

/** Answers to what a use case refuses. */
export function refusal(refused: Refusal): ProblemError {
  switch (refused.kind) {
    case 'unknown':
      return new ProblemError('resource_not_found', 'The team has no secret with this name.');
    case 'limit_reached':
      return new ProblemError('limit_reached', `A team has at most ${refused.limit} secrets.`);
    case 'refused':
      return new ProblemError('invalid_request', `\`value\` ${refused.reason}.`, {
        errors: [{ pointer: '/value', detail: refused.reason }],
      });
    case 'reserved_name':
      return new ProblemError('invalid_request', `\`purpose\` ${RESERVED}.`, {
        errors: [{ pointer: '/purpose', detail: RESERVED }],
      });
    case 'in_use':
      return new ProblemError('conflict', `The secret is in use by ${refused.by.join(', ')}.`);
  }
}
