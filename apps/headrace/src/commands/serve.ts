import type { RunningApp, Settings } from '#platform/config';
import type { CommandModule } from '../cli/command.js';
import { noArguments } from '../cli/no-arguments.js';
import { openDatabase } from '../process/database.js';
import { runServer } from '../process/run-server.js';

/** One application in a process of its own. Several such processes make the same installation as `up`. */
const alone = (name: string, load: () => Promise<(settings: Settings) => Promise<RunningApp>>): CommandModule => ({
  run: (args) => {
    noArguments(args);
    return runServer(async ({ settings, opened, wait, startApp }) => {
      const start = await load();
      const database = await openDatabase(settings, { migrate: false, wait });
      opened.add('database', () => database.close());
      const { url } = await startApp(name, start, database.settings);
      return url === null ? `Headrace ${name} is ready.` : `Headrace ${name} is ready at ${url}.`;
    });
  },
});

export const api = alone('API', async () => (await import('../../../api/src/main.js')).startApi);
export const ingress = alone('ingress', async () => (await import('../../../ingress/src/main.js')).startIngress);
export const processor = alone(
  'processor',
  async () => (await import('../../../processor/src/main.js')).startProcessor,
);
