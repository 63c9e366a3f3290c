import { Injectable, Logger } from '@nestjs/common';
import { Metrics, type LabeledCounter } from '#platform/observability';
import { type EvaluationRecord, EvaluationsStore, type ClaimedEvaluation } from '../persistence/evaluations.store.js';
import { within } from '#platform/kernel';
import { isDatabaseUnavailable } from '#platform/persistence';
import { abandonedReason, isExhausted, waitAfterFailure } from '../domain/evaluation-retry.js';
import type { WaitingWebhook, WebhookShare } from '../domain/fair-shares.js';
import { writeResults } from '../persistence/deliveries.store.js';
import { DeliveryEvaluators } from './delivery-evaluator.js';

/** The steps at which a test may interrupt the evaluation, in their order. */
export const EVALUATION_STEPS = ['taken', 'evaluated', 'recorded'] as const;
export type EvaluationStep = (typeof EVALUATION_STEPS)[number];

/** Called at every step. Does nothing, except in a test that ends the process at one of them. */
@Injectable()
export class EvaluationSteps {
  reached(_step: EvaluationStep): void {
    // Overridden by tests.
  }
}

/** A larger number is not needed in a metric, and would cost more to count. */
const MAX_WAITING = 10_000;
const ENDS = ['evaluated', 'retry', 'abandoned', 'requeued', 'interrupted'] as const;

/** Prometheus metrics of the evaluation of deliveries. */
@Injectable()
export class EvaluationMetrics {
  private readonly ends: LabeledCounter<(typeof ENDS)[number]>;

  constructor(metrics: Metrics, store: EvaluationsStore) {
    this.ends = metrics.labeledCounter(
      'headrace_webhook_evaluations_total',
      'Attempts to evaluate a delivery, by result. interrupted is counted when the delivery is claimed again.',
      'end',
      ENDS,
    );
    metrics.observed(
      'headrace_webhook_deliveries_waiting',
      `Accepted deliveries that are not evaluated yet; at most ${MAX_WAITING} are counted.`,
      () => store.countWaiting(MAX_WAITING),
    );
  }

  ended(end: EvaluationRecord['kind']): void {
    this.ends.add(end);
  }

  interrupted(): void {
    this.ends.add('interrupted');
  }
}

/** Evaluators share the database connections with the rest of the process. */
const CONCURRENCY = 4;
/** Together with the time slice below much less than the lease of a claim. */
const TIMEOUT_MS = 5000;
/** After this time a batch starts no evaluation: a factory whose deliveries start many runs must not delay the others. */
const TIME_SLICE_MS = 500;
const UNAVAILABLE_WAIT_MS = 1000;

/** With the share of each factory, a batch fits into memory and into the time of a lease. */
export const FACTORIES_PER_BATCH = 4;

/**
 * Evaluates accepted deliveries. A claim counts a lost attempt and starts a lease; recording the result reverts the count.
 * So each result is recorded once, another process continues after a crash when the lease has expired, and a delivery that
 * ends the process runs out of attempts like one that fails.
 */
@Injectable()
export class EvaluateDeliveries {
  private readonly logger = new Logger(EvaluateDeliveries.name);

  constructor(
    private readonly store: EvaluationsStore,
    private readonly evaluators: DeliveryEvaluators,
    private readonly steps: EvaluationSteps,
    private readonly metrics: EvaluationMetrics,
  ) {}

  /** Webhooks with due deliveries, ordered by id, after `after`. */
  waiting(after: string, limit: number): Promise<WaitingWebhook[]> {
    return this.store.webhooksWaiting(after, limit);
  }

  /**
   * Evaluates deliveries of at most {@link FACTORIES_PER_BATCH} factories, except those that another process has claimed.
   * Returns their number.
   */
  async execute(factories: readonly (readonly WebhookShare[])[]): Promise<number> {
    const startedAt = performance.now();
    const claimed = await this.store.claim(factories.flat());
    if (claimed.length === 0) return 0;
    this.steps.reached('taken');
    const records: EvaluationRecord[] = [];
    // Deliveries of one factory are evaluated one after the other, so that no factory uses the time of another.
    await Promise.all(
      lanesOf(claimed).map(async (lane) => {
        for (const [index, delivery] of lane.entries()) {
          if (index > 0 && performance.now() - startedAt > TIME_SLICE_MS) records.push({ delivery, kind: 'requeued' });
          else {
            records.push(await this.evaluate(delivery));
            this.steps.reached('evaluated');
          }
        }
      }),
    );
    await this.store.record(records);
    this.steps.reached('recorded');
    for (const { kind } of records) this.metrics.ended(kind);
    return records.filter(({ kind }) => kind !== 'requeued').length;
  }

  private async evaluate(delivery: ClaimedEvaluation): Promise<EvaluationRecord> {
    const { deliveryId, tries } = delivery;
    if (tries.losses > 0) {
      this.metrics.interrupted();
      const what = `The evaluation of delivery ${deliveryId} was interrupted ${tries.losses} times`;
      this.logger.warn(isExhausted(tries) ? `${what}: it is abandoned.` : `${what}: it is evaluated alone.`);
    }
    if (isExhausted(tries)) return { delivery, kind: 'abandoned', error: abandonedReason(tries), counts: false };
    try {
      const results = await withinTime((signal) => this.evaluators.evaluate(delivery, signal));
      return { delivery, kind: 'evaluated', resultsJson: writeResults(results) };
    } catch (error) {
      // Not a failure of this delivery.
      if (isDatabaseUnavailable(error)) return { delivery, kind: 'retry', waitMs: UNAVAILABLE_WAIT_MS, counts: false };
      const after = { ...tries, failures: tries.failures + 1 };
      const attempt = after.failures + after.losses;
      this.logger.error(`Evaluating delivery ${deliveryId} failed, attempt ${attempt}.`, error);
      const waitMs = waitAfterFailure(attempt);
      return waitMs === null
        ? { delivery, kind: 'abandoned', error: abandonedReason(after), counts: true }
        : { delivery, kind: 'retry', waitMs, counts: true };
    }
  }
}

/** At most {@link CONCURRENCY} lanes; the deliveries of a factory have separate lanes. */
function lanesOf(waiting: readonly ClaimedEvaluation[]): ClaimedEvaluation[][] {
  const byFactory = new Map<string, ClaimedEvaluation[]>();
  for (const delivery of waiting) {
    const { factoryUid } = delivery.webhook;
    byFactory.set(factoryUid, [...(byFactory.get(factoryUid) ?? []), delivery]);
  }
  const width = Math.max(1, Math.floor(CONCURRENCY / byFactory.size));
  return [...byFactory.values()].flatMap((ofFactory) =>
    Array.from({ length: width }, (_, lane) => ofFactory.filter((_delivery, index) => index % width === lane)),
  );
}

/** Aborts the work after the timeout, and does not wait for it. */
function withinTime<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const timeout = new AbortController();
  return within(TIMEOUT_MS, work(timeout.signal), (): never => {
    const error = new Error(`The evaluation took more than ${TIMEOUT_MS} ms.`);
    timeout.abort(error);
    throw error;
  });
}
