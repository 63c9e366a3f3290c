import { join } from 'node:path';
import { ensurePrivateDir, parseSettings, type RunningApp, type Settings } from '#platform/config';
import { LockHeldError, PidLock } from '#platform/embedded-postgres';
import { command, CommandError, type CommandModule } from '../cli/command.js';
import { checkQueues, openDatabase, waitForDatabase } from '../process/database.js';
import { connectLauncher } from '../process/launcher.js';
import { logErrorsOnly } from '../process/logging.js';
import { runServer } from '../process/run-server.js';
import { withServices } from '../process/services.js';
import { type Connection, ConnectionFile, UidFile } from '../up/connection-file.js';
import { FirstStart } from '../up/first-start.js';
import { readyMessage } from '../up/ready-message.js';

type StartApp = (settings: Settings) => Promise<RunningApp>;

/** Runs everything in one process. Parts are closed in reverse order, so the database is closed last. */
export const up = command({
  run: () =>
    runServer(async ({ settings: given, opened, wait, startApp }) => {
      const lock = await acquireLock(given.dataDir);
      opened.add('lock', () => lock.release());
      const database = await openDatabase(given, { migrate: true, wait });
      opened.add('database', () => database.close());
      const { settings } = database;
      const file = new ConnectionFile(settings.dataDir);
      const access = await waitForDatabase(wait, () =>
        withServices(settings, (services) =>
          new FirstStart(services, new UidFile(settings.dataDir)).ensure(file.read()),
        ),
      );
      const [{ startApi }, { startIngress }, { startProcessor }] = await Promise.all([
        import('../../../api/src/main.js'),
        import('../../../ingress/src/main.js'),
        import('../../../processor/src/main.js'),
      ]);
      let isComplete = false;
      // Stopped in reverse order: first no more deliveries arrive, then runs end while their API still answers.
      await startApp('API', (final) => startApi(final, [], { isReady: () => isComplete }), settings);
      await startApp('processor', startProcessor, settings);
      await startApp('ingress', startIngress, settings);
      const connection: Connection = { ...addresses(settings), ...access };
      file.write(connection);
      // Programs that wait for the readiness of the API read the file next, so it must exist before.
      isComplete = true;
      return readyMessage(connection, file.path);
    }),
});

/** One application in its own process. Several such processes form the same installation as `up`. */
const application = (name: string, load: () => Promise<StartApp>): CommandModule =>
  command({
    run: () =>
      runServer(async ({ settings, opened, wait, startApp }) => {
        const start = await load();
        const database = await openDatabase(settings, { migrate: false, wait });
        opened.add('database', () => database.close());
        await checkQueues(database.settings, wait);
        const { url } = await startApp(name, start, database.settings);
        return url === null ? `Headrace ${name} is ready.` : `Headrace ${name} is ready at ${url}.`;
      }),
  });

export const api = application('API', async () => (await import('../../../api/src/main.js')).startApi);
export const ingress = application('ingress', async () => (await import('../../../ingress/src/main.js')).startIngress);
export const processor = application(
  'processor',
  async () => (await import('../../../processor/src/main.js')).startProcessor,
);

/** Migrates the database to the current schema. Safe to repeat, and to run in several processes at once. */
export const migrate = command({
  run: async () => {
    logErrorsOnly();
    const { environment } = await connectLauncher();
    const settings = parseSettings(environment);
    const database = await openDatabase(settings, {
      migrate: true,
      wait: { timeoutMs: settings.databaseStartTimeout },
    });
    await database.close();
    process.stdout.write('The database schema is up to date.\n');
  },
});

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
