import { join } from 'node:path';
import { loginUrl } from '#platform/auth';
import { ensurePrivateDir, type Settings } from '#platform/config';
import { LockHeldError, PidLock } from '#platform/embedded-postgres';
import type { LoadedPlugin } from '#platform/plugins';
import { CommandError } from '../cli/command.js';
import { openDatabase, waitForDatabase } from '../process/database.js';
import { pluginMigrations } from '../process/plugins.js';
import type { ServerProcess } from '../process/run-server.js';
import { withServices } from '../process/services.js';
import { type Connection, ConnectionFile, UidFile } from './connection-file.js';
import { FirstStart } from './first-start.js';

export interface Installation {
  readonly connection: Connection;
  /** The file that contains the connection. */
  readonly file: string;
  /** Signs the first user in once, within fifteen minutes; null: that user is disabled. */
  readonly loginLink: string | null;
  /** With the URL of the database. */
  readonly settings: Settings;
}

/**
 * Starts everything in this process: the database if it is the embedded one, the API, the ingress and the processor. Each part
 * is added to `opened`, and parts are closed in reverse order, so the database is closed last.
 */
export async function startInstallation(
  { settings: given, opened, wait, startApp }: ServerProcess,
  plugins: readonly LoadedPlugin[],
): Promise<Installation> {
  const lock = await acquireLock(given.dataDir);
  opened.add('lock', () => lock.release());
  const database = await openDatabase(given, { migrate: true, migrations: pluginMigrations(plugins), wait });
  opened.add('database', () => database.close());
  const { settings } = database;
  const file = new ConnectionFile(settings.dataDir);
  const { loginCode, ...access } = await waitForDatabase(wait, () =>
    withServices(settings, (services) => new FirstStart(services, new UidFile(settings.dataDir)).ensure(file.read())),
  );
  const [{ startApi }, { startIngress }, { startProcessor }] = await Promise.all([
    import('../../../api/src/main.js'),
    import('../../../ingress/src/main.js'),
    import('../../../processor/src/main.js'),
  ]);
  let isComplete = false;
  // Stopped in reverse order: first no more deliveries arrive, then runs end while their API still answers.
  await startApp('API', (final) => startApi(final, plugins, { isReady: () => isComplete }), settings);
  await startApp('processor', (final) => startProcessor(final, plugins), settings);
  await startApp('ingress', (final) => startIngress(final, plugins), settings);
  const connection: Connection = { ...addresses(settings), ...access };
  file.write(connection);
  // Programs that wait for the readiness of the API read the file next, so it must exist before.
  isComplete = true;
  // The first user may be disabled.
  const loginLink = loginCode === '' ? null : loginUrl(settings, loginCode);
  return { connection, file: file.path, loginLink, settings };
}

async function acquireLock(dataDir: string): Promise<PidLock> {
  try {
    return await PidLock.acquire(join(ensurePrivateDir(dataDir, 'state'), 'up.lock'), 0);
  } catch (error) {
    if (!(error instanceof LockHeldError)) throw error;
    throw new CommandError(
      `Headrace already runs on ${dataDir} (process ${error.pid}). Stop it first, or set HEADRACE_DATA_DIR to another directory.`,
    );
  }
}

function addresses({
  publicUrl,
  ingressPublicUrl,
}: Settings): Pick<Connection, 'base_url' | 'ingress_base_url' | 'docs_url'> {
  return { base_url: `${publicUrl}/api/v1`, ingress_base_url: ingressPublicUrl, docs_url: `${publicUrl}/docs` };
}
