import { Logger } from '@nestjs/common';
import { type Settings, withSettings } from '#platform/config';
import { EmbeddedPostgres } from '#platform/embedded-postgres';
import { isDatabaseUnavailable, SchemaError, sqlState } from '#platform/persistence';
import { CommandError } from '../cli/command.js';
import { checkMigrated, migrateAll } from './migrations.js';
import { type DatabaseWait, NO_WAIT, waitForDatabase } from './wait-for-database.js';

export interface OpenDatabase {
  /** With `databaseUrl` set. */
  readonly settings: Settings;
  /** Leaves the embedded server, which stops when nobody else uses it. */
  close(): Promise<void>;
}

/**
 * The database that DATABASE_URL names, or the embedded one, started or joined. `migrate`: brings it to the newest schema.
 * Else that is only checked, except for the embedded one: it belongs to this version of the program alone. `wait`: for a
 * database that does not answer. Default: not at all.
 */
export async function openDatabase(
  settings: Settings,
  { migrate, wait = NO_WAIT }: { readonly migrate: boolean; readonly wait?: DatabaseWait },
): Promise<OpenDatabase> {
  if (settings.databaseUrl !== undefined) {
    await usable('the database that DATABASE_URL names', () =>
      waitForDatabase<unknown>(wait, () =>
        migrate ? migrateAll(settings) : checkMigrated(settings.databaseUrl ?? ''),
      ),
    );
    return { settings, close: () => Promise.resolve() };
  }
  const server = await startEmbedded(settings.dataDir);
  const opened = { settings: withSettings(settings, { databaseUrl: server.url }), close: () => server.stop() };
  try {
    await usable('the embedded database', () => waitForDatabase(wait, () => migrateAll(opened.settings)));
  } catch (error) {
    await opened.close();
    throw error;
  }
  return opened;
}

function startEmbedded(dataDir: string): Promise<EmbeddedPostgres> {
  const logger = new Logger('EmbeddedPostgres');
  const write = {
    info: (message: string) => logger.log(message),
    warn: (message: string) => logger.warn(message),
    error: (message: string) => logger.error(message),
  };
  return EmbeddedPostgres.start({ dataDir, log: (level, message) => write[level](message) });
}

/** Rejects with why the database cannot be used, without its URL: that holds a password. */
async function usable(name: string, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof SchemaError) throw new CommandError(error.message);
    const refused = sqlState(error)?.startsWith('28') === true || sqlState(error) === '3D000';
    if (!refused && !isDatabaseUnavailable(error)) throw error;
    const reason = (error as { code?: string }).code ?? (error instanceof Error ? error.message : String(error));
    throw new CommandError(`${name} cannot be used (${reason}).`);
  }
}
