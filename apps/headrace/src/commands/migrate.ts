import { parseSettings } from '#platform/config';
import { noArguments } from '../cli/no-arguments.js';
import { openDatabase } from '../process/database.js';
import { connectLauncher } from '../process/launcher.js';
import { logFaultsOnly } from '../process/logging.js';

/** Brings the database to the newest schema. Safe to run many times, and from many places at once. */
export async function run(args: readonly string[]): Promise<number> {
  noArguments(args);
  logFaultsOnly();
  const { environment } = await connectLauncher();
  const settings = parseSettings(environment);
  const wait = { timeoutMs: settings.databaseStartTimeout };
  const database = await openDatabase(settings, { migrate: true, wait });
  await database.close();
  process.stdout.write('The database has the newest schema.\n');
  return 0;
}
