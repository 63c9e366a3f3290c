import { Injectable, Logger } from '@nestjs/common';
import { Database, isDatabaseUnavailable } from '#libs/persistence';
import type { WaitingWebhook, WebhookTurn } from '../domain/evaluation-turns.js';
import { MAX_EVALUATION_ATTEMPTS, waitAfterFailure } from '../domain/evaluation-retry.js';
import { writeResults } from '../persistence/automation-results.js';
import { type EvaluationRecord, EvaluationsStore, type WaitingDelivery } from '../persistence/evaluations.store.js';
import { EvaluationSteps } from './evaluation-steps.js';
import { DeliveryEvaluators } from './delivery-evaluators.js';

/** Evaluators use the same connections as everything else of the process. */
const AT_ONCE = 4;
/** A batch must end before PostgreSQL takes its idle transaction for abandoned. */
const TIMEOUT_MS = 5000;
/** Afterwards a batch begins no evaluation: a factory whose deliveries start many runs has the others wait no longer. */
const TIME_SLICE_MS = 500;
const UNAVAILABLE_WAIT_MS = 1000;
const GIVEN_UP = `The evaluation failed ${MAX_EVALUATION_ATTEMPTS} times; the service's log says why.`;

/** Factories of one batch: with their share of deliveries it fits into memory and into the time of a transaction. */
export const FACTORIES_AT_ONCE = 4;

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
    private readonly steps: EvaluationSteps,
  ) {}

  /** Webhooks that have something to evaluate now, by id from the one after `after`. */
  waiting(after: string, limit: number): Promise<WaitingWebhook[]> {
    return this.store.webhooksWaiting(after, limit);
  }

  /**
   * Evaluates some deliveries of at most {@link FACTORIES_AT_ONCE} factories, and none that somebody else has at hand.
   * Returns how many.
   */
  async execute(factories: readonly (readonly WebhookTurn[])[]): Promise<number> {
    const evaluated = await this.database.transaction(async (tx) => {
      const begun = performance.now();
      const waiting = await this.store.take(tx, factories.flat());
      if (waiting.length > 0) this.steps.reached('taken');
      const records: EvaluationRecord[] = [];
      // One after the other of each factory, so that none takes the time of another.
      await Promise.all(
        lanesOf(waiting).map(async (lane) => {
          for (const delivery of lane) {
            records.push(await this.evaluate(delivery));
            this.steps.reached('evaluated');
            if (performance.now() - begun > TIME_SLICE_MS) break;
          }
        }),
      );
      if (records.length === 0) return 0;
      await this.store.record(tx, records, performance.now() - begun);
      this.steps.reached('recorded');
      return records.length;
    });
    if (evaluated > 0) this.steps.reached('committed');
    return evaluated;
  }

  private async evaluate(delivery: WaitingDelivery): Promise<EvaluationRecord> {
    try {
      const results = await withinTime((signal) => this.evaluators.evaluate(delivery, signal));
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

/** At most {@link AT_ONCE} lanes, all of a factory's deliveries in its own ones. */
function lanesOf(waiting: readonly WaitingDelivery[]): WaitingDelivery[][] {
  const byFactory = new Map<string, WaitingDelivery[]>();
  for (const delivery of waiting) {
    const { factoryUid } = delivery.webhook;
    byFactory.set(factoryUid, [...(byFactory.get(factoryUid) ?? []), delivery]);
  }
  const width = Math.max(1, Math.floor(AT_ONCE / byFactory.size));
  return [...byFactory.values()].flatMap((ofFactory) =>
    Array.from({ length: width }, (_, lane) => ofFactory.filter((_delivery, index) => index % width === lane)),
  );
}

/** What takes longer is told to stop, and is not waited for. */
async function withinTime<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const ending = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = new Error(`The evaluation took more than ${TIMEOUT_MS} ms.`);
      ending.abort(error);
      reject(error);
    }, TIMEOUT_MS);
  });
  try {
    return await Promise.race([work(ending.signal), late]);
  } finally {
    clearTimeout(timer);
  }
}
