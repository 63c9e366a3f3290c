import { forbidden, invalidCursor, invalidInput, limitReached, notFound, ProblemError } from '#platform/http';
import type { GetDeliveryResult, ListDeliveriesResult } from '../application/deliveries.service.js';
import type { RedeliverResult } from '../application/redeliver-delivery.js';
import type {
  CreateWebhookResult,
  DeleteWebhookResult,
  RotateSecretResult,
  UpdateWebhookResult,
} from '../application/webhooks.service.js';

type Success = 'created' | 'updated' | 'rotated' | 'deleted' | 'page' | 'found' | 'redelivered';
type Result =
  | CreateWebhookResult
  | UpdateWebhookResult
  | RotateSecretResult
  | DeleteWebhookResult
  | ListDeliveriesResult
  | GetDeliveryResult
  | RedeliverResult;

/** The problem document of a result that is not a success. */
export function webhookProblem(result: Exclude<Result, { kind: Success }>): ProblemError {
  switch (result.kind) {
    case 'unknown':
      return notFound('webhook');
    case 'unknown_delivery':
      return notFound('delivery');
    case 'forbidden':
      return forbidden('factory');
    case 'limit_reached':
      return limitReached('A factory', result.limit, 'webhooks');
    case 'not_supported':
      return new ProblemError('operation_not_supported', result.reason);
    case 'not_accepted':
      return new ProblemError(
        'operation_not_supported',
        'Only accepted deliveries can be redelivered: of others no payload is stored.',
      );
    case 'disabled':
      return new ProblemError('operation_not_supported', 'The webhook is disabled. Enable it first.');
    case 'limited':
      return new ProblemError('rate_limited', 'At most 60 deliveries of a webhook can be redelivered in a minute.', {
        retryAfterSeconds: Math.max(1, Math.ceil(result.retryMs / 1000)),
      });
    case 'bad_cursor':
      return invalidCursor('these deliveries with this `outcome`');
    case 'invalid':
      return invalidInput(result.issues);
  }
}
