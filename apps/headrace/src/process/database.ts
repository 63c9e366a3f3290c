import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { type Settings, withSettings } from '#platform/config';
import { EmbeddedPostgres } from '#platform/embedded-postgres';
import { isDatabaseUnavailable, type MigrationSource, SchemaError, sqlState } from '#platform/persistence';
import { CommandError } from '../cli/command.js';
import { checkMigrated, checkQueuesMigrated, migrateAll } from './migrations.js';

export interface OpenDatabase {
  /** With `databaseUrl` set. */
  readonly settings: Settings;
  /** Releases the embedded server, which stops when no process uses it. */
  close(): Promise<void>;
}

/**
 * Opens the database of DATABASE_URL, or starts or joins the embedded one. `migrate` applies migrations; otherwise the schema
 * is only checked, except for the embedded database, which belongs to this version of the program alone. `wait`: how long to
 * wait for a database that is not available; by default not at all.
 */
export async function openDatabase(
  settings: Settings,
  {
    migrate,
    migrations = [],
    wait = { timeoutMs: 0 },
  }: {
    readonly migrate: boolean;
    /** Of plugins. */
    readonly migrations?: readonly MigrationSource[];
    readonly wait?: DatabaseWait;
  },
): Promise<OpenDatabase> {
  if (settings.databaseUrl !== undefined) {
    await usable('the database of DATABASE_URL', () =>
      waitForDatabase<unknown>(wait, () =>
        migrate ? migrateAll(settings, migrations) : checkMigrated(settings.databaseUrl ?? '', migrations),
      ),
    );
    return { settings, close: () => Promise.resolve() };
  }
  const opened = await openServer(settings);
  try {
    await usable('the embedded database', () => waitForDatabase(wait, () => migrateAll(opened.settings, migrations)));
  } catch (error) {
    await opened.close();
    throw error;
  }
  return opened;
}

/** The database without a look at its schema. */
export async function openServer(settings: Settings): Promise<OpenDatabase> {
  if (settings.databaseUrl !== undefined) return { settings, close: () => Promise.resolve() };
  const server = await startEmbedded(settings.dataDir);
  return { settings: withSettings(settings, { databaseUrl: server.url }), close: () => server.stop() };
}

/** Rejects unless the schema of the queues is that of this program. Redis has none. */
export async function checkQueues({ queueUrl, databaseUrl = '' }: Settings, wait: DatabaseWait): Promise<void> {
  if (queueUrl?.startsWith('redis')) return;
  await usable(queueUrl === undefined ? 'the database' : 'the database of QUEUE_URL', () =>
    waitForDatabase(wait, () => checkQueuesMigrated(queueUrl ?? databaseUrl)),
  );
}

function startEmbedded(dataDir: string): Promise<EmbeddedPostgres> {
  const logger = new Logger('EmbeddedPostgres');
  return EmbeddedPostgres.start({
    dataDir,
    log: (level, message) => (level === 'info' ? logger.log(message) : logger.error(message)),
  });
}

/** Rejects with the reason why the database cannot be used, without its URL, which contains a password. */
export async function usable<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof SchemaError) throw new CommandError(error.message);
    const refused = sqlState(error)?.startsWith('28') === true || sqlState(error) === '3D000';
    if (!refused && !isDatabaseUnavailable(error)) throw error;
    const reason = (error as { code?: string }).code ?? (error instanceof Error ? error.message : String(error));
    throw new CommandError(`${name} cannot be used (${reason}).`);
  }
}

const RETRY_MS = 500;
const REPORT_MS = 5_000;

export interface DatabaseWait {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/**
 * Repeats `work` while the database is unavailable, for example while it starts or recovers; after the timeout it rejects
 * with the last error. `work` must leave nothing open when it rejects.
 */
export async function waitForDatabase<T>({ timeoutMs, signal }: DatabaseWait, work: () => Promise<T>): Promise<T> {
  const logger = new Logger('Database');
  const startedAt = performance.now();
  let reportedAt = -Infinity;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const now = performance.now();
      if (!isDatabaseUnavailable(error) || now - startedAt >= timeoutMs || signal?.aborted) throw error;
      if (now - reportedAt >= REPORT_MS) {
        reportedAt = now;
        const { code, message } = error as { code?: string; message: string };
        logger.warn(
          `Waiting for the database, up to ${Math.round(timeoutMs / 1000)} s (DATABASE_START_TIMEOUT): ${message || (code ?? '')}`,
        );
      }
      await delay(RETRY_MS, undefined, signal && { signal }).catch(() => undefined);
    }
  }
}
