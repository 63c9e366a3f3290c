import { type DynamicModule, type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { Settings } from '#platform/config';
import { CoreModule, PersistenceModule } from '#platform/persistence';
import type { EvaluateDeliveries } from '#domain/webhooks';

@Module({})
class PartsModule {
  static of(settings: Settings, modules: DynamicModule['imports'] = []): DynamicModule {
    return { module: PartsModule, imports: [CoreModule.of(settings), PersistenceModule.forRoot(), ...modules] };
  }
}

/** Parts of a process with their own connections, and without what would have them work before a test asks. */
export function startParts(settings: Settings, modules: DynamicModule['imports']): Promise<INestApplicationContext> {
  return NestFactory.createApplicationContext(PartsModule.of(settings, modules), { abortOnError: false });
}

/** Every factory has its turn once. Returns the number of deliveries that were evaluated; rejects when a batch fails. */
export const evaluateOnce = (evaluate: EvaluateDeliveries): Promise<number> =>
  evaluate.runOnce(new AbortController().signal, (error) => {
    throw error;
  });
