import type { INestApplicationContext } from '@nestjs/common';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ensureDataDir, parseSettings, type Settings, withSettings } from '#platform/config';
import { CommandError } from '../cli/command.js';
import { openDatabase } from './database.js';
import { connectLauncher } from './launcher.js';
import { logFaultsOnly } from './logging.js';
import { type MoreServices, withServices } from './services.js';

export interface UseCaseOptions extends MoreServices {
  /** Completes the settings, before anything is opened. May throw a CommandError. */
  readonly prepare?: (settings: Settings) => Settings;
}

/** For commands that look at or change who is who: over the installation's database, whether `up` runs or not. */
export async function withUseCases<T>(
  work: (services: INestApplicationContext) => Promise<T>,
  { prepare = (settings) => settings, ...more }: UseCaseOptions = {},
): Promise<T> {
  logFaultsOnly();
  const { environment } = await connectLauncher();
  const settings = parseSettings(environment);
  if (settings.databaseUrl === undefined && !existsSync(join(settings.dataDir, 'secrets'))) {
    throw new CommandError(`there is no installation in ${settings.dataDir}. Start one, or set HEADRACE_DATA_DIR.`);
  }
  const prepared = prepare(withSettings(settings, { dataDir: ensureDataDir(settings.dataDir) }));
  const database = await openDatabase(prepared, { migrate: false });
  try {
    return await withServices(database.settings, work, more);
  } finally {
    await database.close();
  }
}
