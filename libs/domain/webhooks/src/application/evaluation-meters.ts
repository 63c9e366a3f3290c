import { Injectable } from '@nestjs/common';
import { Metrics, type Tally } from '#platform/observability';
import { type EvaluationRecord, EvaluationsStore } from '../persistence/evaluations.store.js';

/** Who looks at a metric need not know more exactly. */
const MAX_WAITING = 10_000;
const ENDS = ['evaluated', 'retry', 'abandoned', 'requeued', 'interrupted'] as const;

/** What the evaluation of deliveries tells Prometheus. */
@Injectable()
export class EvaluationMeters {
  private readonly ends: Tally<(typeof ENDS)[number]>;

  constructor(metrics: Metrics, store: EvaluationsStore) {
    this.ends = metrics.tally(
      'headrace_webhook_evaluations_total',
      'Attempts to evaluate a delivery, by result. interrupted: counted at the next attempt.',
      'end',
      ENDS,
    );
    metrics.observed(
      'headrace_webhook_deliveries_waiting',
      `Accepted deliveries of the installation that are not evaluated yet; at most ${MAX_WAITING} are counted.`,
      () => store.countWaiting(MAX_WAITING),
    );
  }

  ended(end: EvaluationRecord['kind']): void {
    this.ends.add(end);
  }

  cutOff(): void {
    this.ends.add('interrupted');
  }
}
