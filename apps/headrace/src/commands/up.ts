import { join } from 'node:path';
import { ensurePrivateDir, type Settings } from '#platform/config';
import { LockHeldError, PidLock } from '#platform/embedded-postgres';
import { startApi } from '../../../api/src/main.js';
import { startIngress } from '../../../ingress/src/main.js';
import { startProcessor } from '../../../processor/src/main.js';
import { CommandError } from '../cli/command.js';
import { noArguments } from '../cli/no-arguments.js';
import { openDatabase } from '../process/database.js';
import { runServer } from '../process/run-server.js';
import { withServices } from '../process/services.js';
import { waitForDatabase } from '../process/wait-for-database.js';
import { type Connection, ConnectionFile } from '../up/connection-file.js';
import { FirstStart } from '../up/first-start.js';
import { readyMessage } from '../up/ready-message.js';
import { UidFile } from '../up/uid-file.js';

/** Everything in one process. What is opened last closes first: the database goes last. */
export function run(args: readonly string[]): Promise<number> {
  noArguments(args);
  return runServer(async ({ settings: given, opened, wait, startApp }) => {
    const lock = await onlyOne(given.dataDir);
    opened.add('lock', () => lock.release());
    const database = await openDatabase(given, { migrate: true, wait });
    opened.add('database', () => database.close());
    const { settings } = database;
    const file = new ConnectionFile(settings.dataDir);
    const access = await waitForDatabase(wait, () =>
      withServices(settings, (services) => new FirstStart(services, new UidFile(settings.dataDir)).ensure(file.read())),
    );
    let isComplete = false;
    // Stopped in the opposite order: no deliveries come in, then runs end while their API still answers.
    await startApp('API', (final) => startApi(final, [], { isReady: () => isComplete }), settings);
    await startApp('processor', startProcessor, settings);
    await startApp('ingress', startIngress, settings);
    const connection: Connection = { ...addresses(settings), ...access };
    file.write(connection);
    // The API is ready from now on, and a program that waited for that finds the file.
    isComplete = true;
    return readyMessage(connection, file.path);
  });
}

async function onlyOne(dataDir: string): Promise<PidLock> {
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
