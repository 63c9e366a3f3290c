import { ProblemError } from '#platform/http';
import type { GetDeliveryResult } from '../application/get-delivery.js';
import type { ListDeliveriesResult } from '../application/list-deliveries.js';
import type { RedeliverResult } from '../application/redeliver-delivery.js';

type Result = ListDeliveriesResult | GetDeliveryResult | RedeliverResult;
type Refusal = Exclude<Result, { kind: 'page' | 'found' | 'redelivered' }>;

/** Answers to what the delivery log refuses. */
export function deliveryRefusal(refused: Refusal): ProblemError {
  switch (refused.kind) {
    case 'unknown':
      return new ProblemError('resource_not_found', 'The factory has no webhook with this uid.');
    case 'forbidden':
      return new ProblemError(
        'not_authorized',
        'Your role on the factory’s team does not allow to manage the factory.',
      );
    case 'unknown_delivery':
      return new ProblemError('resource_not_found', 'The log of this webhook has no delivery with this id.');
    case 'bad_cursor': {
      const detail = 'is not a cursor of these deliveries with this `outcome`';
      return new ProblemError('invalid_request', `Query parameter \`cursor\` ${detail}.`, {
        errors: [{ pointer: '/cursor', detail }],
      });
    }
    case 'not_accepted':
      return new ProblemError(
        'operation_not_supported',
        'Only accepted deliveries can be evaluated again: of all others no payload is kept.',
      );
    case 'disabled':
      return new ProblemError(
        'operation_not_supported',
        'The webhook is disabled, so that nothing of it starts runs. Enable it first.',
      );
    case 'limited':
      return new ProblemError('rate_limited', 'At most 60 deliveries of a webhook are evaluated again in a minute.', {
        retryAfterSeconds: Math.max(1, Math.ceil(refused.retryMs / 1000)),
      });
  }
}
