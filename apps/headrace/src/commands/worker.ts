import { findRenamedSettings, PLUGIN_PREFIX } from '#platform/config';
import { type CommandModule, UsageError } from '../cli/command.js';
import { optionsHelp } from '../cli/help.js';
import { printTable, timeCell } from '../cli/output.js';
import { TEAM_FILTER } from '../cli/shared-options.js';
import { apiCommand } from '../remote/connect.js';
import { openWorkerPlugins } from '../runner/worker-plugins.js';
import { DAEMON_KEYS, removeFromEnvironment, stderrLine, stopSignals } from '../runner/runner-process.js';

/** The first SIGTERM or SIGINT drains, the second stops running tasks. Logs JSON lines to standard error. */
export const worker: CommandModule = {
  options: {},
  details: async () => {
    const { FLAGS_NOTE, flagsHelp } = await import('#execution/worker-daemon');
    return [optionsHelp(flagsHelp()), FLAGS_NOTE].join('\n\n');
  },
  run: async (args) => {
    const renamed = findRenamedSettings(process.env);
    if (renamed.length > 0) throw new UsageError(renamed.join(' '));
    const { readWorkerOptions, runWorker, WorkerFault } = await import('#execution/worker-daemon');
    process.stderr.on('error', () => undefined);
    process.umask(0o077);
    const { drain, abort: stop } = stopSignals();
    const plugins = await openWorkerPlugins(process.env);
    try {
      const options = readWorkerOptions(
        args,
        process.env,
        plugins.backends.map(({ name }) => name),
      );
      // Before any child starts: neither children nor agents that run as the same user may find the secrets.
      removeFromEnvironment([
        ...DAEMON_KEYS,
        ...Object.keys(process.env).filter((name) => name.startsWith(PLUGIN_PREFIX)),
      ]);
      const backend = plugins.backends.find(({ name }) => name === options.backend);
      return await runWorker(options, { write: stderrLine, drain, stop, backend });
    } catch (error) {
      if (!(error instanceof WorkerFault)) throw error;
      process.stderr.write(`headrace: ${error.message}\n`);
      return error.exitCode;
    } finally {
      await plugins.close();
    }
  },
};

interface RemoteWorker {
  readonly worker_host: string;
  readonly connection_count: number;
  readonly connected_at: string;
  readonly last_seen_at: string;
}

export const list = apiCommand({
  options: TEAM_FILTER,
  run: async (api, values) => {
    const path = '/agent/connected-self-hosted-workers';
    const { workers } = await api.get<{ workers: RemoteWorker[] }>(path, values.team);
    printTable(values, workers, ['WORKER HOST', 'CONNECTIONS', 'CONNECTED', 'LAST SEEN'], (worker) => [
      ...[worker.worker_host, worker.connection_count],
      ...[timeCell(worker.connected_at), timeCell(worker.last_seen_at)],
    ]);
  },
});
