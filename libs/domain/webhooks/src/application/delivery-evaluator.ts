import type { AutomationResult } from '../domain/delivery.js';
import { Injectable } from '@nestjs/common';

/** A delivery that was answered with 202. */
export interface AcceptedDelivery {
  readonly deliveryId: string;
  /** As it is now; it may have been disabled or deleted since. */
  readonly webhook: {
    readonly uid: string;
    readonly name: string;
    readonly factoryUid: string;
    readonly teamUid: string;
  };
  readonly identity: string;
  readonly receivedAt: Date;
  /** The bytes that were sent: valid JSON of any depth, in valid UTF-8. */
  readonly body: Buffer;
  /** Those that the log keeps, by their names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Plug for rooms that act on deliveries. Registered with `DeliveryEvaluators`. Asked at least once for each accepted
 * delivery, and again after a fault or a crash: what it does has to be idempotent by delivery and automation, and in
 * transactions of its own. Throws only on faults; what cannot be evaluated is a result that says so. Once `signal` is
 * aborted nobody waits for it any longer: it is to stop, having kept what is done, and it must let others have a turn that
 * often. What is left is asked for again.
 */
export abstract class DeliveryEvaluator {
  abstract evaluate(delivery: AcceptedDelivery, signal?: AbortSignal): Promise<readonly AutomationResult[]>;
}

/** Tells the processor that a delivery waits to be evaluated. A hint; never throws. */
export abstract class EvaluationNudge {
  abstract nudge(): void;
}

/** Everybody who acts on deliveries. With nobody registered no delivery has a result. */
@Injectable()
export class DeliveryEvaluators {
  private readonly evaluators = new Set<DeliveryEvaluator>();

  register(evaluator: DeliveryEvaluator): void {
    this.evaluators.add(evaluator);
  }

  /** All results, in the order of registration. Rejects when one evaluator does: then all are asked again. */
  async evaluate(delivery: AcceptedDelivery, signal?: AbortSignal): Promise<readonly AutomationResult[]> {
    const results: AutomationResult[] = [];
    for (const evaluator of this.evaluators) results.push(...(await evaluator.evaluate(delivery, signal)));
    return results;
  }
}
