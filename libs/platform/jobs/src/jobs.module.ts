import { BullModule } from '@nestjs/bullmq';
import {
  type DynamicModule,
  Global,
  Inject,
  Injectable,
  Logger,
  Module,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { DiscoveryModule, DiscoveryService } from '@nestjs/core';
import { createPostgresBackend, createRedisBackend, type ConnectionOptions, setDefaultBackendFactory } from 'bullmq';
import { createRequire } from 'node:module';
import pg from 'pg';
import { Settings } from '#platform/config';
import { surviveConnectionLoss } from '#platform/persistence';
import { definedJobs } from './job-definition.js';
import { JobProcessor } from './job-processor.js';

const QUEUE_CONNECTION = Symbol('QUEUE_CONNECTION');

type QueueConnection = { readonly pool: pg.Pool } | { readonly redisUrl: string };

/** PostgreSQL unless QUEUE_URL names Redis; chosen by the connection each queue is given. */
function installBackends(): void {
  setDefaultBackendFactory((name: string, opts: { connection: unknown }, factoryOpts?: object) =>
    opts.connection instanceof pg.Pool
      ? createPostgresBackend(name, opts as never, factoryOpts)
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
  if (url === undefined) throw new Error('QUEUE_URL or DATABASE_URL is needed for the queues.');
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

/** The connections that all queues of a process share. Ended by whoever closed the application, after it has closed. */
@Injectable()
export class QueueConnections {
  constructor(@Inject(QUEUE_CONNECTION) private readonly connection: QueueConnection) {}

  async end(): Promise<void> {
    if ('pool' in this.connection) await this.connection.pool.end();
  }
}

/** Refuses to start a process whose queues would hold jobs that nothing handles. */
@Injectable()
class JobCompleteness implements OnApplicationBootstrap {
  constructor(private readonly discovery: DiscoveryService) {}

  onApplicationBootstrap(): void {
    const processors = this.discovery
      .getProviders()
      .map((wrapper) => wrapper.instance as unknown)
      .filter((instance) => instance instanceof JobProcessor);
    const handled = new Map<string, number>();
    for (const { job } of processors.flatMap((processor) => processor.handlers)) {
      const key = `${job.queue}/${job.name}`;
      handled.set(key, (handled.get(key) ?? 0) + 1);
    }
    const faults = definedJobs().flatMap(({ queue, name }) => {
      const count = handled.get(`${queue}/${name}`) ?? 0;
      if (count === 1) return [];
      return [
        count === 0
          ? `${queue}/${name} has no handler: add handles(…) to a JobProcessor`
          : `${queue}/${name} has ${count} handlers: keep one`,
      ];
    });
    if (faults.length > 0) throw new Error(`Jobs are not complete: ${faults.join('; ')}.`);
  }
}

@Global()
@Module({})
export class JobsModule {
  /** `handlesJobs`: this process runs the processors, so every defined job must have its handler here. */
  static forRoot({ handlesJobs }: { handlesJobs: boolean }): DynamicModule {
    installBackends();
    return {
      module: JobsModule,
      imports: [
        DiscoveryModule,
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
      providers: handlesJobs ? [JobCompleteness] : [],
    };
  }
}

@Module({
  providers: [{ provide: QUEUE_CONNECTION, inject: [Settings], useFactory: connect }, QueueConnections],
  exports: [QUEUE_CONNECTION, QueueConnections],
})
class QueueConnectionModule {}
