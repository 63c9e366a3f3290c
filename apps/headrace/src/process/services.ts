import 'reflect-metadata';
import { type DynamicModule, Global, type INestApplicationContext, Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AuthModule } from '#platform/auth';
import { Settings, withSettings } from '#platform/config';
import { FactoriesModule } from '#domain/factories';
import { Clock, SystemClock } from '#platform/kernel';
import { PersistenceModule } from '#platform/persistence';

const FEW_CONNECTIONS = 2;

/** What a command needs beyond the use cases that all of them get. */
export interface MoreServices {
  readonly imports?: readonly Type<unknown>[];
  readonly providers?: readonly Type<unknown>[];
}

/** The use cases that the command line needs, without any listener. */
@Global()
@Module({})
class ServicesModule {
  static of(settings: Settings, { imports = [], providers = [] }: MoreServices): DynamicModule {
    return {
      module: ServicesModule,
      imports: [PersistenceModule.forRoot(), AuthModule, FactoriesModule, ...imports],
      providers: [
        { provide: Settings, useValue: withSettings(settings, { databasePoolSize: FEW_CONNECTIONS }) },
        { provide: Clock, useClass: SystemClock },
        ...providers,
      ],
      exports: [Settings, Clock],
    };
  }
}

/** Gives `work` the use cases over a migrated database, whose URL must be in the settings. */
export async function withServices<T>(
  settings: Settings,
  work: (services: INestApplicationContext) => Promise<T>,
  more: MoreServices = {},
): Promise<T> {
  const services = await NestFactory.createApplicationContext(ServicesModule.of(settings, more), {
    abortOnError: false,
    bufferLogs: false,
  });
  try {
    return await work(services);
  } finally {
    await services.close();
  }
}
