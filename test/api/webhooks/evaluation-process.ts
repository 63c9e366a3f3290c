import { Module } from '@nestjs/common';
import type { Settings } from '#platform/config';
import { Metrics, ObservabilityModule } from '#platform/observability';
import { Database } from '#platform/persistence';
import {
  type AcceptedDelivery,
  type AutomationResult,
  DeliveryEvaluator,
  DeliveryEvaluators,
  EVALUATION_PROVIDERS,
  EvaluateDeliveries,
  PruneDeliveries,
} from '#domain/webhooks';
import { EvaluationsStore } from '../../../libs/domain/webhooks/src/persistence/evaluations.store.js';
import { evaluateOnce, startParts } from '../../support/parts.js';

/** What a processor has for deliveries, with separate connections and without its periodic tasks. Nothing happens in it until a test asks. */
export interface EvaluationProcess {
  readonly database: Database;
  readonly store: EvaluationsStore;
  readonly prune: PruneDeliveries;
  /** Has `act` asked about every delivery. */
  on(act: (delivery: AcceptedDelivery) => Promise<readonly AutomationResult[]>): void;
  /** Its laps end there, as with a process that dies, and reject. */
  dieAt(step: 'taken' | 'evaluated'): void;
  /** As Prometheus gets it. */
  metrics(): Promise<string>;
  /** Every webhook has its turn once. Returns how many deliveries were taken. */
  lap(): Promise<number>;
  close(): Promise<void>;
}

@Module({ imports: [ObservabilityModule], providers: [DeliveryEvaluators, ...EVALUATION_PROVIDERS] })
class EvaluationModule {}

export async function startEvaluation(settings: Settings): Promise<EvaluationProcess> {
  const app = await startParts(settings, [EvaluationModule]);
  const part = <T>(type: new (...given: never[]) => T): T => app.get<T>(type, { strict: false });
  const evaluate = part(EvaluateDeliveries);
  const store = part(EvaluationsStore);
  return {
    database: part(Database),
    store,
    prune: part(PruneDeliveries),
    on: (act) => {
      class Acting extends DeliveryEvaluator {
        override evaluate(delivery: AcceptedDelivery) {
          return act(delivery);
        }
      }
      part(DeliveryEvaluators).register(new Acting());
    },
    dieAt: (step) => {
      const die = (): never => {
        throw new Error(`It died at ${step}.`);
      };
      if (step === 'evaluated') store.record = die;
      else {
        const claim = store.claim.bind(store);
        store.claim = (turns) => claim(turns).then(die);
      }
    },
    metrics: () => part(Metrics).render(),
    lap: () => evaluateOnce(evaluate),
    close: () => app.close(),
  };
}
