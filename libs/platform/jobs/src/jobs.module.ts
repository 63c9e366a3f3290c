import { BullModule } from '@nestjs/bullmq';
import { type DynamicModule, Global, Inject, Injectable, Logger, Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import {
  assertSchemaCompatibility,
  type ConnectionOptions,
  createRedisBackend,
  LATEST_SCHEMA_VERSION,
  PostgresConnection,
  PostgresQueueBackend,
  runMigrations,
  SchemaMigrationRequiredError,
  setDefaultBackendFactory,
} from 'bullmq';
import { createRequire } from 'node:module';
import pg from 'pg';
import { Settings } from '#platform/config';
import { ObservabilityModule } from '#platform/observability';
import { surviveConnectionLoss } from '#platform/persistence';
import { BackgroundTasks, SERVER_PROCESS } from './background-tasks.js';
import type { ServerProcess } from './task-definition.js';

const QUEUE_CONNECTION = Symbol('QUEUE_CONNECTION');

type QueueConnection = { readonly pool: pg.Pool } | { readonly redisUrl: string };

/**
 * BullMQ checks the schema once for each queue and keeps the result. After a connection that broke during this check, the queue
 * would reject every job until the process ends, and its worker would retry without a pause, which blocks the event loop.
 * The start of a process has checked the schema already.
 */
class CheckedConnection extends PostgresConnection {
  override waitUntilReady(): Promise<void> {
    return Promise.resolve();
  }
}

/** PostgreSQL unless QUEUE_URL names Redis; chosen by the connection each queue is given. */
function installBackends(): void {
  setDefaultBackendFactory((name: string, opts: { connection: unknown }, factoryOpts?: object) =>
    opts.connection instanceof pg.Pool
      ? new PostgresQueueBackend(new CheckedConnection(opts.connection), name, opts as never)
      : createRedisBackend(name, opts as never, factoryOpts),
  );
}

/** The Redis client is an optional dependency: an installation without optional packages keeps its queues in PostgreSQL. */
function requireRedisClient(): void {
  try {
    createRequire(import.meta.url).resolve('ioredis');
  } catch (error) {
    throw new Error(
      'QUEUE_URL names Redis, which needs the optional dependency ioredis: install it with `npm ci --include=optional`, or unset QUEUE_URL.',
      { cause: error },
    );
  }
}

function connect(settings: Settings): QueueConnection {
  const url = settings.queueUrl ?? settings.databaseUrl;
  if (url === undefined) throw new Error('The queues need QUEUE_URL or DATABASE_URL.');
  if (url.startsWith('redis')) {
    requireRedisClient();
    return { redisUrl: url };
  }
  const pool = new pg.Pool({
    connectionString: url,
    max: settings.queuePoolSize,
    options: '-c search_path=bullmq',
    keepAlive: true,
    connectionTimeoutMillis: 5000,
    application_name: 'headrace-queue',
  });
  const logger = new Logger('Queues');
  pool.on('error', (error) => logger.warn(`A queue connection failed: ${error.message}`));
  surviveConnectionLoss(pool);
  // Every queue and every worker of the process listens for its errors.
  pool.setMaxListeners(100);
  return { pool };
}

/** The connections that all queues of a process share. The caller that closed the application ends them afterwards. */
@Injectable()
export class QueueConnections {
  constructor(@Inject(QUEUE_CONNECTION) private readonly connection: QueueConnection) {}

  async end(): Promise<void> {
    if ('pool' in this.connection) await this.connection.pool.end();
  }
}

@Global()
@Module({})
export class JobsModule {
  /** `process`: without an implementation of its tasks the start fails. Absent: any part can be started alone. */
  static forRoot(process: ServerProcess | null = null): DynamicModule {
    installBackends();
    return {
      module: JobsModule,
      imports: [
        ObservabilityModule,
        ScheduleModule.forRoot(),
        BullModule.forRootAsync({
          imports: [QueueConnectionModule],
          inject: [QUEUE_CONNECTION],
          useFactory: (connection: QueueConnection) => ({
            connection: ('pool' in connection
              ? connection.pool
              : { url: connection.redisUrl }) as unknown as ConnectionOptions,
            // History lives in our own tables; trimming finished jobs by count or age deadlocks on PostgreSQL.
            defaultJobOptions: { removeOnComplete: true },
          }),
        }),
      ],
      providers: [BackgroundTasks, { provide: SERVER_PROCESS, useValue: process }],
      exports: [BackgroundTasks],
    };
  }
}

@Module({
  providers: [{ provide: QUEUE_CONNECTION, inject: [Settings], useFactory: connect }, QueueConnections],
  exports: [QUEUE_CONNECTION, QueueConnections],
})
class QueueConnectionModule {}

/** Brings BullMQ's own schema (`bullmq`) to its newest version; part of `headrace migrate`. */
export async function migrateQueues(client: pg.PoolClient): Promise<void> {
  await runMigrations(client, 'bullmq');
}

/** Whether the schema of the queues is there and new enough; rejects when it is too new for this version. */
export async function areQueuesMigrated(pool: pg.Pool): Promise<boolean> {
  try {
    return (await assertSchemaCompatibility(pool, 'bullmq')) >= LATEST_SCHEMA_VERSION;
  } catch (error) {
    if (error instanceof SchemaMigrationRequiredError) return false;
    throw error;
  }
}
