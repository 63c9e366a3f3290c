import { Injectable, Logger } from '@nestjs/common';
import { Database, isDatabaseUnavailable } from '#libs/persistence';
import { MAX_EVALUATION_ATTEMPTS, waitAfterFailure } from '../domain/evaluation-retry.js';
import { writeResults } from '../persistence/automation-results.js';
import { type EvaluationRecord, EvaluationsStore, type WaitingDelivery } from '../persistence/evaluations.store.js';
import { DeliveryEvaluators } from './delivery-evaluators.js';

/** Of one webhook in one go: what another has waiting does not wait for all of it. */
const SHARE = 8;
/** Evaluators use the same connections as everything else of the process. */
const AT_ONCE = 4;
/** A batch must end before PostgreSQL takes its idle transaction for abandoned. */
const TIMEOUT_MS = 5000;
const UNAVAILABLE_WAIT_MS = 1000;
const GIVEN_UP = `The evaluation failed ${MAX_EVALUATION_ATTEMPTS} times; the service's log says why.`;

/** Webhooks of one batch: with their share of deliveries it fits into memory and into the time of a transaction. */
export const WEBHOOKS_AT_ONCE = 4;

/**
 * Evaluates what was accepted. The row stays locked meanwhile and the result is written with the same transaction, so
 * that each is recorded once, and whoever dies in between leaves it to the next one at once.
 */
@Injectable()
export class EvaluateDeliveries {
  private readonly logger = new Logger(EvaluateDeliveries.name);

  constructor(
    private readonly database: Database,
    private readonly store: EvaluationsStore,
    private readonly evaluators: DeliveryEvaluators,
  ) {}

  /** Webhooks that have something to evaluate now, by id from the one after `after`. */
  waiting(after: string, limit: number): Promise<string[]> {
    return this.store.webhooksWaiting(after, limit);
  }

  /**
   * Evaluates some deliveries of at most {@link WEBHOOKS_AT_ONCE} webhooks, and none that somebody else has at hand.
   * Returns how many.
   */
  execute(webhookIds: readonly string[]): Promise<number> {
    return this.database.transaction(async (tx) => {
      const begun = performance.now();
      const waiting = await this.store.take(tx, webhookIds, SHARE);
      const records: EvaluationRecord[] = [];
      for (let index = 0; index < waiting.length; index += AT_ONCE) {
        const some = waiting.slice(index, index + AT_ONCE);
        records.push(...(await Promise.all(some.map((delivery) => this.evaluate(delivery)))));
      }
      if (records.length > 0) await this.store.record(tx, records, performance.now() - begun);
      return records.length;
    });
  }

  private async evaluate(delivery: WaitingDelivery): Promise<EvaluationRecord> {
    try {
      const results = await withinTime(this.evaluators.evaluate(delivery));
      return { delivery, kind: 'evaluated', resultsJson: writeResults(results) };
    } catch (error) {
      // Says nothing about the delivery.
      if (isDatabaseUnavailable(error)) return { delivery, kind: 'retry', waitMs: UNAVAILABLE_WAIT_MS, counts: false };
      const attempt = delivery.attempts + 1;
      this.logger.error(`Evaluating delivery ${delivery.deliveryId} failed, attempt ${attempt}.`, error);
      const waitMs = waitAfterFailure(attempt);
      return waitMs === null
        ? { delivery, kind: 'given_up', error: GIVEN_UP }
        : { delivery, kind: 'retry', waitMs, counts: true };
    }
  }
}

async function withinTime<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`The evaluation took more than ${TIMEOUT_MS} ms.`)), TIMEOUT_MS);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
