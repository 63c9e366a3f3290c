import { type DynamicModule, Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Settings } from '#platform/config';
import { CONNECT_TIMEOUT_MS, queryTimeoutMs, sessionOptions } from './connection-options.js';
import { Database } from './database.js';
import { DatabaseListener, LISTENER_DATABASE_URL } from './listener.js';

function databaseUrlOf(settings: Settings): string {
  if (settings.databaseUrl === undefined)
    throw new Error('DATABASE_URL is needed: only `headrace up` starts an embedded PostgreSQL.');
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
            // Whoever starts the application decides whether to wait for a database that does not answer.
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
