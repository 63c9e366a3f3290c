import { Injectable, Logger } from '@nestjs/common';
import { Metrics, type LabeledCounter, runInSpan } from '#platform/observability';
import { type EvaluationRecord, EvaluationsStore, type ClaimedEvaluation } from '../persistence/evaluations.store.js';
import { within } from '#platform/kernel';
import { isDatabaseUnavailable } from '#platform/persistence';
import { abandonedReason, type EvaluationTries, isExhausted, waitAfterFailure } from '../domain/evaluation-retry.js';
import { fairShares, type WebhookShare } from '../domain/fair-shares.js';
import { writeResults } from '../persistence/deliveries.store.js';
import { DeliveryEvaluators } from './delivery-evaluator.js';

/** A larger number is not needed in a metric, and would cost more to count. */
const MAX_WAITING = 10_000;
/** Seconds. */
const LAG_BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 3600];
const ENDS = ['evaluated', 'retry', 'abandoned', 'requeued', 'interrupted'] as const;

@Injectable()
export class EvaluationMetrics {
  readonly ends: LabeledCounter<(typeof ENDS)[number]>;
  readonly lag;

  constructor(metrics: Metrics, store: EvaluationsStore) {
    this.ends = metrics.labeledCounter(
      'headrace_webhook_evaluations_total',
      'Attempts to evaluate a delivery, by result. interrupted is counted when the delivery is claimed again.',
      'end',
      ENDS,
    );
    this.lag = metrics.histogram(
      'headrace_webhook_evaluation_lag_seconds',
      'Time from the receipt of a delivery to the end of its evaluation.',
      [],
      LAG_BUCKETS,
    );
    metrics.observedTogether(
      {
        headrace_webhook_deliveries_waiting: {
          help: `Accepted deliveries that are not evaluated yet; at most ${MAX_WAITING} are counted.`,
        },
        headrace_webhook_deliveries_oldest_seconds: {
          help: 'Time since the oldest of these deliveries was received; 0 without one.',
        },
      },
      async () => {
        const { deliveries, oldestSeconds } = await store.waiting(MAX_WAITING);
        return [
          { gauge: 'headrace_webhook_deliveries_waiting', value: deliveries },
          { gauge: 'headrace_webhook_deliveries_oldest_seconds', value: oldestSeconds },
        ];
      },
    );
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
const FACTORIES_PER_BATCH = 4;
const WEBHOOKS_PER_PAGE = 256;

/**
 * Evaluates accepted deliveries. A claim counts a lost attempt and starts a lease; recording the result reverts the count.
 * So each result is recorded once, another process continues after a crash when the lease has expired, and a delivery that
 * ends the process runs out of attempts like one that fails.
 */
@Injectable()
export class EvaluateDeliveries {
  private readonly logger = new Logger(EvaluateDeliveries.name);
  private round = 0;

  constructor(
    private readonly store: EvaluationsStore,
    private readonly evaluators: DeliveryEvaluators,
    private readonly metrics: EvaluationMetrics,
  ) {}

  /**
   * Every factory has its turn once. Returns the number of deliveries that were evaluated. A batch that fails is reported
   * and left to a later run, so that the factories after it have their turn.
   */
  async runOnce(signal: AbortSignal, report: (error: unknown) => void): Promise<number> {
    let evaluated = 0;
    const round = this.round++;
    for (let after = '0'; !signal.aborted;) {
      const waiting = await this.store.webhooksWaiting(after, WEBHOOKS_PER_PAGE);
      const factories = fairShares(waiting, round);
      for (let index = 0; index < factories.length && !signal.aborted; index += FACTORIES_PER_BATCH) {
        const batch = this.evaluateBatch(factories.slice(index, index + FACTORIES_PER_BATCH));
        evaluated += await batch.catch((error: unknown) => {
          report(error);
          return 0;
        });
      }
      const last = waiting.at(-1);
      if (last === undefined || waiting.length < WEBHOOKS_PER_PAGE) break;
      after = last.webhookId;
    }
    return evaluated;
  }

  private async evaluateBatch(factories: readonly (readonly WebhookShare[])[]): Promise<number> {
    const startedAt = performance.now();
    const claimed = await this.store.claim(factories.flat());
    if (claimed.length === 0) return 0;
    const records: EvaluationRecord[] = [];
    // Deliveries of one factory are evaluated one after the other, so that no factory uses the time of another.
    await Promise.all(
      lanesOf(claimed).map(async (lane) => {
        for (const [index, delivery] of lane.entries()) {
          if (index > 0 && performance.now() - startedAt > TIME_SLICE_MS)
            records.push({ delivery, kind: 'requeued', counts: false });
          else {
            records.push(await runInSpan(delivery.traceContext, () => this.evaluate(delivery)));
          }
        }
      }),
    );
    for (const seconds of await this.store.record(records)) this.metrics.lag.observe(seconds);
    for (const { kind } of records) this.metrics.ends.add(kind);
    return records.filter(({ kind }) => kind !== 'requeued').length;
  }

  private async evaluate(delivery: ClaimedEvaluation): Promise<EvaluationRecord> {
    const { deliveryId, tries } = delivery;
    if (tries.losses > 0) {
      this.metrics.ends.add('interrupted');
      const what = `The evaluation of delivery ${deliveryId} was interrupted ${tries.losses} times`;
      this.logger.warn(isExhausted(tries) ? `${what}: it is abandoned.` : `${what}: it is evaluated alone.`);
    }
    if (isExhausted(tries)) return abandoned(delivery, tries, false);
    try {
      const results = await withinTime((signal) => this.evaluators.evaluate(delivery, signal));
      return { delivery, kind: 'evaluated', results: writeResults(results), counts: true };
    } catch (error) {
      // Not a failure of this delivery.
      if (isDatabaseUnavailable(error)) return { delivery, kind: 'retry', waitMs: UNAVAILABLE_WAIT_MS, counts: false };
      const after = { ...tries, failures: tries.failures + 1 };
      const attempt = after.failures + after.losses;
      this.logger.error(`Evaluating delivery ${deliveryId} failed, attempt ${attempt}.`, error);
      const waitMs = waitAfterFailure(attempt);
      return waitMs === null ? abandoned(delivery, after, true) : { delivery, kind: 'retry', waitMs, counts: true };
    }
  }
}

const abandoned = (delivery: ClaimedEvaluation, tries: EvaluationTries, counts: boolean): EvaluationRecord => ({
  delivery,
  kind: 'abandoned',
  results: writeResults([]),
  error: abandonedReason(tries),
  counts,
});

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
