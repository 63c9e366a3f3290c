import { ProblemError } from '#platform/http';
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
      return new ProblemError('resource_not_found', 'Webhook not found.');
    case 'unknown_delivery':
      return new ProblemError('resource_not_found', 'Delivery not found.');
    case 'forbidden':
      return new ProblemError(
        'not_authorized',
        'Your role on the team of the factory does not allow managing the factory.',
      );
    case 'limit_reached':
      return new ProblemError('limit_reached', `A factory has at most ${result.limit} webhooks.`);
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
    case 'bad_cursor': {
      const detail = 'is not a cursor of these deliveries with this `outcome`';
      return new ProblemError('invalid_request', `Query parameter \`cursor\` ${detail}.`, {
        errors: [{ pointer: '/cursor', detail }],
      });
    }
    case 'invalid': {
      const sentences = result.issues.map(({ pointer, detail }) => `\`${pointer.slice(1)}\` ${detail}.`);
      return new ProblemError('invalid_request', sentences.join(' '), { errors: result.issues });
    }
  }
}
