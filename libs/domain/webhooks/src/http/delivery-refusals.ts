import { forbidden, invalidCursor, notFound, ProblemError } from '#platform/http';
import type { GetDeliveryResult } from '../application/get-delivery.js';
import type { ListDeliveriesResult } from '../application/list-deliveries.js';
import type { RedeliverResult } from '../application/redeliver-delivery.js';

type Result = ListDeliveriesResult | GetDeliveryResult | RedeliverResult;
type Refusal = Exclude<Result, { kind: 'page' | 'found' | 'redelivered' }>;

/** Answers to what the delivery log refuses. */
export function deliveryRefusal(refused: Refusal): ProblemError {
  switch (refused.kind) {
    case 'unknown':
      return notFound('webhook');
    case 'forbidden':
      return forbidden('factory');
    case 'unknown_delivery':
      return notFound('delivery');
    case 'bad_cursor':
      return invalidCursor('these deliveries with this `outcome`');
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
