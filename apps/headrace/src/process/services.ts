import 'reflect-metadata';
import { type DynamicModule, Global, type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AuthModule } from '#libs/auth';
import { Settings, withSettings } from '#libs/config';
import { FactoriesModule } from '#libs/factories';
import { Clock, SystemClock } from '#libs/kernel';
import { PersistenceModule } from '#libs/persistence';

const FEW_CONNECTIONS = 2;

/** The use cases that the command line needs, without any listener. */
@Global()
@Module({})
class ServicesModule {
  static of(settings: Settings): DynamicModule {
    return {
      module: ServicesModule,
      imports: [PersistenceModule.forRoot(), AuthModule, FactoriesModule],
      providers: [
        { provide: Settings, useValue: withSettings(settings, { databasePoolSize: FEW_CONNECTIONS }) },
        { provide: Clock, useClass: SystemClock },
      ],
      exports: [Settings, Clock],
    };
  }
}

/** Gives `work` the use cases over a migrated database, whose URL must be in the settings. */
export async function withServices<T>(
  settings: Settings,
  work: (services: INestApplicationContext) => Promise<T>,
): Promise<T> {
  const services = await NestFactory.createApplicationContext(ServicesModule.of(settings), {
    abortOnError: false,
    bufferLogs: false,
  });
  try {
    return await work(services);
  } finally {
    await services.close();
  }
}
