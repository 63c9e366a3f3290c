import { type DynamicModule, Global, Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AutomationsJobsModule } from '#libs/automations';
import { Settings } from '#libs/config';
import { JobsModule, QueueConnections } from '#libs/jobs';
import { Clock } from '#libs/kernel';
import { ObservabilityModule } from '#libs/observability';
import { clockProvider, PersistenceModule } from '#libs/persistence';
import { StorageModule } from '#libs/storage';
import { EvaluateDeliveries, FACTORIES_AT_ONCE, factoryTurns } from '#libs/webhooks';

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

/** What a processor has for automations, without its clockwork: nothing happens in it until a test asks. */
export interface FiringProcess {
  /** Evaluates all deliveries that are due. Returns how many. */
  evaluateAll(): Promise<number>;
  /** One of its parts. */
  get<T>(part: Type<T>): T;
  close(): Promise<void>;
}

export async function startFiring(settings: Settings, more: readonly Type[] = []): Promise<FiringProcess> {
  @Module({
    imports: [
      SurroundingsModule.of(settings),
      ObservabilityModule,
      PersistenceModule.forRoot(),
      JobsModule.forRoot({ handlesJobs: false }),
      StorageModule,
      AutomationsJobsModule,
      ...more,
    ],
  })
  class FiringAppModule {}
  const app = await NestFactory.createApplicationContext(FiringAppModule, { abortOnError: false });
  const evaluate = app.get(EvaluateDeliveries);
  const lap = async (): Promise<number> => {
    const factories = factoryTurns(await evaluate.waiting('0', 1000), 0);
    let taken = 0;
    for (let index = 0; index < factories.length; index += FACTORIES_AT_ONCE)
      taken += await evaluate.execute(factories.slice(index, index + FACTORIES_AT_ONCE));
    return taken;
  };
  return {
    evaluateAll: async () => {
      let all = 0;
      for (let taken = await lap(); taken > 0; taken = await lap()) all += taken;
      return all;
    },
    get: (part) => app.get(part, { strict: false }),
    close: async () => {
      const queues = app.get(QueueConnections, { strict: false });
      await app.close();
      await queues.end();
    },
  };
}
