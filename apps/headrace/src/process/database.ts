import { Logger } from '@nestjs/common';
import { type Settings, withSettings } from '#libs/config';
import { EmbeddedPostgres } from '#libs/persistence';

export interface PreparedDatabase {
  /** With `databaseUrl` set. */
  readonly settings: Settings;
  readonly isEmbedded: boolean;
  close(): Promise<void>;
}

/** The database that DATABASE_URL names, or the embedded one, started or joined. */
export async function prepareDatabase(settings: Settings): Promise<PreparedDatabase> {
  if (settings.databaseUrl !== undefined) return { settings, isEmbedded: false, close: () => Promise.resolve() };
  const logger = new Logger('EmbeddedPostgres');
  const server = await EmbeddedPostgres.start({
    dataDir: settings.dataDir,
    log: (level, message) =>
      ({ info: () => logger.log(message), warn: () => logger.warn(message), error: () => logger.error(message) })[
        level
      ](),
  });
  return {
    settings: withSettings(settings, { databaseUrl: server.url }),
    isEmbedded: true,
    close: () => server.stop(),
  };
}
