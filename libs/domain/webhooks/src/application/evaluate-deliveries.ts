import { Injectable, Logger } from '@nestjs/common';
import { Metrics, type Tally } from '#platform/observability';
import { type EvaluationRecord, EvaluationsStore, type TakenEvaluation } from '../persistence/evaluations.store.js';
import { isDatabaseUnavailable } from '#platform/persistence';
import { givenUpReason, isExhausted, waitAfterFailure } from '../domain/evaluation-retry.js';
import type { WaitingWebhook, WebhookTurn } from '../domain/fair-shares.js';
import { writeResults } from '../persistence/deliveries.store.js';
import { DeliveryEvaluators } from './delivery-evaluator.js';

/** Where the evaluation of deliveries can be interrupted, in their order. */
export const EVALUATION_STEPS = ['taken', 'evaluated', 'recorded'] as const;
export type EvaluationStep = (typeof EVALUATION_STEPS)[number];

/** Passed at every step. Nothing happens there but in a test that puts an end to the process at one of them. */
@Injectable()
export class EvaluationSteps {
  reached(_step: EvaluationStep): void {
    // What this is for is replaced where it is needed.
  }
}

/** Who looks at a metric need not know more exactly. */
const MAX_WAITING = 10_000;
const ENDS = ['evaluated', 'retry', 'given_up', 'put_back', 'cut_off'] as const;

/** What the evaluation of deliveries tells Prometheus. */
@Injectable()
export class EvaluationMetrics {
  private readonly ends: Tally<(typeof ENDS)[number]>;

  constructor(metrics: Metrics, store: EvaluationsStore) {
    this.ends = metrics.tally(
      'headrace_webhook_evaluations_total',
      'Attempts to evaluate a delivery, by what became of them. cut_off: noticed when the delivery is taken again.',
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
    this.ends.add('cut_off');
  }
}

/** Evaluators use the same connections as everything else of the process. */
const AT_ONCE = 4;
/** With the time slice below: much less than the lease of what was taken. */
const TIMEOUT_MS = 5000;
/** Afterwards a batch begins no evaluation: a factory whose deliveries start many runs has the others wait no longer. */
const TIME_SLICE_MS = 500;
const UNAVAILABLE_WAIT_MS = 1000;

/** Factories of one batch: with their share of deliveries it fits into memory and into the time of a lease. */
export const FACTORIES_PER_BATCH = 4;

/**
 * Evaluates what was accepted. Taking a delivery counts an attempt and begins a lease; recording its end takes the count
 * back. So each is recorded once, whoever dies in between leaves it to the next one when the lease ends, and a delivery
 * that kills whoever evaluates it runs out of attempts like one that fails.
 */
@Injectable()
export class EvaluateDeliveries {
  private readonly logger = new Logger(EvaluateDeliveries.name);

  constructor(
    private readonly store: EvaluationsStore,
    private readonly evaluators: DeliveryEvaluators,
    private readonly steps: EvaluationSteps,
    private readonly meters: EvaluationMetrics,
  ) {}

  /** Webhooks that have something to evaluate now, by id from the one after `after`. */
  waiting(after: string, limit: number): Promise<WaitingWebhook[]> {
    return this.store.webhooksWaiting(after, limit);
  }

  /**
   * Evaluates some deliveries of at most {@link FACTORIES_PER_BATCH} factories, and none that somebody else has at hand.
   * Returns how many.
   */
  async execute(factories: readonly (readonly WebhookTurn[])[]): Promise<number> {
    const begun = performance.now();
    const taken = await this.store.take(factories.flat());
    if (taken.length === 0) return 0;
    this.steps.reached('taken');
    const records: EvaluationRecord[] = [];
    // One after the other of each factory, so that none takes the time of another.
    await Promise.all(
      lanesOf(taken).map(async (lane) => {
        for (const [index, delivery] of lane.entries()) {
          if (index > 0 && performance.now() - begun > TIME_SLICE_MS) records.push({ delivery, kind: 'put_back' });
          else {
            records.push(await this.evaluate(delivery));
            this.steps.reached('evaluated');
          }
        }
      }),
    );
    await this.store.record(records);
    this.steps.reached('recorded');
    for (const { kind } of records) this.meters.ended(kind);
    return records.filter(({ kind }) => kind !== 'put_back').length;
  }

  private async evaluate(delivery: TakenEvaluation): Promise<EvaluationRecord> {
    const { deliveryId, tries } = delivery;
    if (tries.losses > 0) {
      this.meters.cutOff();
      const what = `The evaluation of delivery ${deliveryId} was cut off ${tries.losses} times so far`;
      this.logger.warn(isExhausted(tries) ? `${what}: it is given up.` : `${what}: it is evaluated alone.`);
    }
    if (isExhausted(tries)) return { delivery, kind: 'given_up', error: givenUpReason(tries), counts: false };
    try {
      const results = await withinTime((signal) => this.evaluators.evaluate(delivery, signal));
      return { delivery, kind: 'evaluated', resultsJson: writeResults(results) };
    } catch (error) {
      // Says nothing about the delivery.
      if (isDatabaseUnavailable(error)) return { delivery, kind: 'retry', waitMs: UNAVAILABLE_WAIT_MS, counts: false };
      const after = { ...tries, failures: tries.failures + 1 };
      const attempt = after.failures + after.losses;
      this.logger.error(`Evaluating delivery ${deliveryId} failed, attempt ${attempt}.`, error);
      const waitMs = waitAfterFailure(attempt);
      return waitMs === null
        ? { delivery, kind: 'given_up', error: givenUpReason(after), counts: true }
        : { delivery, kind: 'retry', waitMs, counts: true };
    }
  }
}

/** At most {@link AT_ONCE} lanes, all of a factory's deliveries in its own ones. */
function lanesOf(waiting: readonly TakenEvaluation[]): TakenEvaluation[][] {
  const byFactory = new Map<string, TakenEvaluation[]>();
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
