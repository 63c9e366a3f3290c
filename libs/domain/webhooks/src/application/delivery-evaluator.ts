import type { AutomationResult } from '../domain/delivery.js';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { ExtensionPoint } from '#platform/kernel';
import { extensionsOf } from '#platform/plugins';
import type { ManagedWebhook } from '../domain/webhook.js';

export interface AcceptedDelivery {
  readonly deliveryId: string;
  /** The current state; the webhook may have been disabled or deleted since. */
  readonly webhook: Pick<ManagedWebhook, 'uid' | 'name' | 'factoryUid' | 'teamUid' | 'signatureScheme'>;
  readonly identity: string;
  readonly receivedAt: Date;
  /** The bytes that were sent: valid JSON of any depth, in valid UTF-8. */
  readonly body: Buffer;
  /** The stored headers, by their names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Extension point: reacts to accepted deliveries, in the processor. Called at least once for each
 * delivery, and again after a fault or a crash, so it must be idempotent by delivery and automation, and use its own
 * transactions. Throws only for faults; a delivery that cannot be evaluated is a result. When `signal` is aborted its
 * result is ignored: it must stop soon, keep what it has done, and is called again for the rest. Long computations have to
 * yield to the event loop.
 */
@ExtensionPoint(['processor'])
export abstract class DeliveryEvaluator {
  abstract evaluate(delivery: AcceptedDelivery, signal?: AbortSignal): Promise<readonly AutomationResult[]>;
}

@Injectable()
export class DeliveryEvaluators implements OnModuleInit {
  private readonly evaluators = new Set<DeliveryEvaluator>();

  constructor(private readonly discovery: DiscoveryService) {}

  onModuleInit(): void {
    for (const evaluator of extensionsOf(this.discovery, DeliveryEvaluator)) this.register(evaluator);
  }

  register(evaluator: DeliveryEvaluator): void {
    this.evaluators.add(evaluator);
  }

  /** All results, in the order of registration. Rejects when one evaluator does; then all are called again. */
  async evaluate(delivery: AcceptedDelivery, signal?: AbortSignal): Promise<readonly AutomationResult[]> {
    const results: AutomationResult[] = [];
    const faults: unknown[] = [];
    for (const evaluator of this.evaluators) {
      try {
        results.push(...(await evaluator.evaluate(delivery, signal)));
      } catch (error) {
        // A permanent fault of one evaluator does not prevent the others.
        faults.push(error);
      }
    }
    if (faults.length > 0) throw faults[0];
    return results;
  }
}
