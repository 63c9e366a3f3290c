import { type DynamicModule, type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { Settings } from '#platform/config';
import { CoreModule, PersistenceModule } from '#platform/persistence';
import { type EvaluateDeliveries, FACTORIES_PER_BATCH, fairShares } from '#domain/webhooks';

@Module({})
class PartsModule {
  static of(settings: Settings, modules: DynamicModule['imports'] = []): DynamicModule {
    return { module: PartsModule, imports: [CoreModule.of(settings), PersistenceModule.forRoot(), ...modules] };
  }
}

/** Parts of a process with connections of their own, and without what would have them work before a test asks. */
export function startParts(settings: Settings, modules: DynamicModule['imports']): Promise<INestApplicationContext> {
  return NestFactory.createApplicationContext(PartsModule.of(settings, modules), { abortOnError: false });
}

/** Every factory has its turn once. Returns how many deliveries were taken. */
export async function evaluationLap(evaluate: EvaluateDeliveries, lap: number): Promise<number> {
  const factories = fairShares(await evaluate.waiting('0', 1000), lap);
  let taken = 0;
  for (let index = 0; index < factories.length; index += FACTORIES_PER_BATCH)
    taken += await evaluate.execute(factories.slice(index, index + FACTORIES_PER_BATCH));
  return taken;
}
