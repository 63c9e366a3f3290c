import { parseArgs } from 'node:util';
import { printTable, timeCell } from '../cli/output.js';
import { connect, REMOTE_OPTIONS } from '../remote/connect.js';

const OPTIONS = { ...REMOTE_OPTIONS, team: { type: 'string' } } as const;

interface RemoteWorker {
  readonly worker_host: string;
  readonly connection_count: number;
  readonly connected_at: string;
  readonly last_seen_at: string;
}

export async function run(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: OPTIONS });
  const path = '/agent/connected-self-hosted-workers';
  const api = await connect(values);
  const { workers } = await api.request<{ workers: RemoteWorker[] }>('GET', path, undefined, values.team);
  printTable(values, workers, ['WORKER HOST', 'CONNECTIONS', 'CONNECTED', 'LAST SEEN'], (worker) => [
    ...[worker.worker_host, worker.connection_count],
    ...[timeCell(worker.connected_at), timeCell(worker.last_seen_at)],
  ]);
  return 0;
}
