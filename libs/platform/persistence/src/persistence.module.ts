import { type DynamicModule, Global, Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Settings } from '#platform/config';
import { Clock } from '#platform/kernel';
import { CONNECT_TIMEOUT_MS, queryTimeoutMs, sessionOptions } from './connection-options.js';
import { Database } from './database.js';
import { DatabaseListener, LISTENER_DATABASE_URL } from './listener.js';
import { clockProvider } from './movable-clock.js';

function databaseUrlOf(settings: Settings): string {
  if (settings.databaseUrl === undefined)
    throw new Error('DATABASE_URL is required: only `headrace up` starts an embedded PostgreSQL.');
  return settings.databaseUrl;
}

/** TypeORM's data source, our SQL front to its pool, and the LISTEN connection. Needs `Settings` to be provided globally. */
@Global()
@Module({})
export class PersistenceModule {
  static forRoot(): DynamicModule {
    return {
      module: PersistenceModule,
      imports: [
        TypeOrmModule.forRootAsync({
          inject: [Settings],
          useFactory: (settings: Settings) => ({
            type: 'postgres' as const,
            url: databaseUrlOf(settings),
            schema: 'headrace',
            poolSize: settings.databasePoolSize,
            extra: {
              options: sessionOptions(settings.databaseQueryTimeout),
              query_timeout: queryTimeoutMs(settings.databaseQueryTimeout),
              keepAlive: true,
              // Statements that do not wait for each other share a round trip, see `Database.reading`.
              pipeline: true,
              connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
              application_name: 'headrace',
            },
            autoLoadEntities: true,
            synchronize: false,
            // The caller that starts the application decides whether to wait for an unavailable database.
            toRetry: () => false,
          }),
        }),
      ],
      providers: [
        Database,
        DatabaseListener,
        { provide: LISTENER_DATABASE_URL, inject: [Settings], useFactory: databaseUrlOf },
      ],
      exports: [Database, DatabaseListener],
    };
  }
}

@Global()
@Module({})
export class CoreModule {
  static of(settings: Settings): DynamicModule {
    return {
      module: CoreModule,
      // For the registries of extension points.
      imports: [DiscoveryModule],
      providers: [{ provide: Settings, useValue: settings }, clockProvider],
      exports: [Settings, Clock, DiscoveryModule],
    };
  }
}
