import { parseSettings, type RunningApp, type Settings } from '#platform/config';
import type { LoadedPlugin } from '#platform/plugins';
import { command, type CommandModule } from '../cli/command.js';
import { checkQueues, openDatabase } from '../process/database.js';
import { connectLauncher } from '../process/launcher.js';
import { logErrorsOnly } from '../process/logging.js';
import { openPlugins, pluginMigrations } from '../process/plugins.js';
import { runServer } from '../process/run-server.js';
import { readyMessage } from '../up/ready-message.js';
import { startInstallation } from '../up/start-installation.js';

type StartApp = (settings: Settings, plugins: readonly LoadedPlugin[]) => Promise<RunningApp>;

/** Runs everything in one process. */
export const up = command({
  run: () =>
    runServer(async (server) => {
      const { connection, file, loginLink } = await startInstallation(server, await openPlugins(server.settings));
      return readyMessage(connection, file, loginLink);
    }),
});

/** One application in its own process. Several such processes form the same installation as `up`. */
const application = (name: string, load: () => Promise<StartApp>): CommandModule =>
  command({
    run: () =>
      runServer(async ({ settings, opened, wait, startApp }) => {
        const plugins = await openPlugins(settings);
        const start = await load();
        const database = await openDatabase(settings, {
          migrate: false,
          migrations: pluginMigrations(plugins),
          wait,
        });
        opened.add('database', () => database.close());
        await checkQueues(database.settings, wait);
        const { url } = await startApp(name, (final) => start(final, plugins), database.settings);
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
      migrations: pluginMigrations(await openPlugins(settings)),
      wait: { timeoutMs: settings.databaseStartTimeout },
    });
    await database.close();
    process.stdout.write('The database schema is up to date.\n');
  },
});
