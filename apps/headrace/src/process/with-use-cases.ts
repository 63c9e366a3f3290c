import type { INestApplicationContext } from '@nestjs/common';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ensureDataDir, parseSettings, withSettings } from '#libs/config';
import { CommandError } from '../cli/command.js';
import { openDatabase } from './database.js';
import { connectLauncher } from './launcher.js';
import { logFaultsOnly } from './logging.js';
import { withServices } from './services.js';

/** For commands that look at or change who is who: over the installation's database, whether `up` runs or not. */
export async function withUseCases<T>(work: (services: INestApplicationContext) => Promise<T>): Promise<T> {
  logFaultsOnly();
  const { environment } = await connectLauncher();
  const settings = parseSettings(environment);
  if (settings.databaseUrl === undefined && !existsSync(join(settings.dataDir, 'secrets'))) {
    throw new CommandError(`there is no installation in ${settings.dataDir}. Start one, or set HEADRACE_DATA_DIR.`);
  }
  const database = await openDatabase(withSettings(settings, { dataDir: ensureDataDir(settings.dataDir) }), {
    migrate: false,
  });
  try {
    return await withServices(database.settings, work);
  } finally {
    await database.close();
  }
}
