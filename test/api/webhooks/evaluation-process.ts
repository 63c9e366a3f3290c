import { type DynamicModule, Global, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Settings } from '#libs/config';
import { Clock } from '#libs/kernel';
import { clockProvider, Database, PersistenceModule } from '#libs/persistence';
import {
  type AcceptedDelivery,
  type AutomationResult,
  DeliveryEvaluator,
  DeliveryEvaluators,
  EvaluateDeliveries,
  PruneDeliveries,
  FACTORIES_AT_ONCE,
  factoryTurns,
  WebhookEvaluationModule,
} from '#libs/webhooks';

@Global()
@Module({})
class SurroundingsModule {
  static of(settings: Settings): DynamicModule {
    return {
      module: SurroundingsModule,
      providers: [{ provide: Settings, useValue: settings }, clockProvider],
      exports: [Settings, Clock],
    };
  }
}

@Module({})
class EvaluationModule {
  static of(settings: Settings): DynamicModule {
    return {
      module: EvaluationModule,
      imports: [SurroundingsModule.of(settings), PersistenceModule.forRoot(), WebhookEvaluationModule],
    };
  }
}

/** What a processor has for deliveries, with connections of its own and without its clockwork. Nothing happens in it until a test asks. */
export interface EvaluationProcess {
  readonly database: Database;
  readonly evaluate: EvaluateDeliveries;
  readonly prune: PruneDeliveries;
  /** Has `act` asked about every delivery. */
  on(act: (delivery: AcceptedDelivery) => Promise<readonly AutomationResult[]>): void;
  /** Every webhook has its turn once. Returns how many deliveries were taken. */
  lap(): Promise<number>;
  close(): Promise<void>;
}

export async function startEvaluation(settings: Settings): Promise<EvaluationProcess> {
  const app = await NestFactory.createApplicationContext(EvaluationModule.of(settings), { abortOnError: false });
  const evaluate = app.get(EvaluateDeliveries);
  let laps = 0;
  return {
    database: app.get(Database),
    evaluate,
    prune: app.get(PruneDeliveries),
    on: (act) => {
      class Acting extends DeliveryEvaluator {
        override evaluate(delivery: AcceptedDelivery) {
          return act(delivery);
        }
      }
      app.get(DeliveryEvaluators).register(new Acting());
    },
    async lap() {
      const factories = factoryTurns(await evaluate.waiting('0', 1000), laps++);
      let taken = 0;
      for (let index = 0; index < factories.length; index += FACTORIES_AT_ONCE)
        taken += await evaluate.execute(factories.slice(index, index + FACTORIES_AT_ONCE));
      return taken;
    },
    close: () => app.close(),
  };
}
