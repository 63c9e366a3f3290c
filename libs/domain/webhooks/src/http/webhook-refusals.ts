import { ProblemError } from '#platform/http';
import type {
  CreateWebhookResult,
  DeleteWebhookResult,
  RotateSecretResult,
  UpdateWebhookResult,
} from '../application/webhook-outcomes.js';

type Result = CreateWebhookResult | UpdateWebhookResult | RotateSecretResult | DeleteWebhookResult;
type Refusal = Exclude<Result, { kind: 'created' | 'updated' | 'rotated' | 'deleted' }>;

/** Answers to what a use case refuses. */
export function webhookRefusal(refused: Refusal): ProblemError {
  switch (refused.kind) {
    case 'unknown':
      return new ProblemError('resource_not_found', 'The factory has no webhook with this uid.');
    case 'limit_reached':
      return new ProblemError('limit_reached', `A factory has at most ${refused.limit} webhooks.`);
    case 'not_supported':
      return new ProblemError('operation_not_supported', refused.reason);
    case 'invalid': {
      const sentences = refused.issues.map(({ pointer, detail }) => `\`${pointer.slice(1)}\` ${detail}.`);
      return new ProblemError('invalid_request', sentences.join(' '), { errors: refused.issues });
    }
  }
}
