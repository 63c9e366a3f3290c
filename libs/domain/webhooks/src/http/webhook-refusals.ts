import { invalidInput, limitReached, notFound, ProblemError } from '#platform/http';
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
      return notFound('webhook');
    case 'limit_reached':
      return limitReached('A factory', refused.limit, 'webhooks');
    case 'not_supported':
      return new ProblemError('operation_not_supported', refused.reason);
    case 'invalid':
      return invalidInput(refused.issues);
  }
}
