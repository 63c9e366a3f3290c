import { Controller, Get } from '@nestjs/common';
import { Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { Operation } from '#platform/http';
import { type ConnectedWorker, ConnectedWorkersStore } from '../persistence/connected-workers.store.js';
import { type ConnectedWorkerItem, ListConnectedSelfHostedWorkersResponse } from './connected-workers.dto.js';

@Controller('agent/connected-self-hosted-workers')
export class ConnectedWorkersController {
  constructor(private readonly workers: ConnectedWorkersStore) {}

  @Get()
  @Authorize('runs:read')
  @Operation({
    id: 'listConnectedSelfHostedWorkers',
    summary: 'List connected self-hosted workers',
    description:
      'Workers of the team that are connected now, by name; without the team header, of all teams of the caller. Connections with the same name are one entry. A worker that has vanished without a word stays listed until it has been silent for 90 seconds.',
    tag: 'Agents',
    team: true,
    success: { status: 200, description: 'The connected workers.', type: ListConnectedSelfHostedWorkersResponse },
    errors: [403],
  })
  async listConnectedSelfHostedWorkers(
    @CurrentCaller() { teamUids }: Caller,
  ): Promise<ListConnectedSelfHostedWorkersResponse> {
    return { workers: (await this.workers.list(teamUids)).map(present) };
  }
}

const present = ({ workerHost, connections, connectedAt, lastSeenAt }: ConnectedWorker): ConnectedWorkerItem => ({
  worker_host: workerHost,
  connection_count: connections,
  connected_at: connectedAt.toISOString(),
  last_seen_at: lastSeenAt.toISOString(),
});
