import { Controller, Get } from '@nestjs/common';
import { ApiExcludeController, ApiTags } from '@nestjs/swagger';
import { Authenticated, Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { ArrayField, DateTimeField, IntegerField, object, Operation, ProblemError, StringField } from '#platform/http';
import { WORKER_SOCKET_PATH } from '#execution/worker-protocol';
import { PresenceStore } from '../persistence/presence.store.js';

class ConnectedWorkerItem {
  @StringField({ description: 'Value for `worker_host` of a configuration.', example: 'build-1' }) worker_host: string;
  @IntegerField({ description: 'How many connections carry this name; a run goes to one of them.', min: 1 })
  connection_count: number;
  @DateTimeField({ description: 'Time at which the oldest of the connections was opened.' }) connected_at: string;
  @DateTimeField({ description: 'Last sign of life of any of them; may be some seconds old.' }) last_seen_at: string;
}

export class ListConnectedSelfHostedWorkersResponse {
  @ArrayField(object(() => ConnectedWorkerItem), { description: 'The connected worker hosts.' })
  workers: ConnectedWorkerItem[];
}

@ApiTags('Agents')
@Controller('agent/connected-self-hosted-workers')
export class ConnectedWorkersController {
  constructor(private readonly presence: PresenceStore) {}

  @Get()
  @Authorize('runs:read')
  @Operation({
    id: 'listConnectedSelfHostedWorkers',
    summary: 'List connected self-hosted workers',
    description:
      'Workers of the team that are connected now, by name; without the team header, of all teams of the caller. Connections with the same name are one entry. A worker that has vanished without a word stays listed until it has been silent for 90 seconds.',
    team: true,
    success: { status: 200, description: 'The connected workers.', type: ListConnectedSelfHostedWorkersResponse },
    errors: [403],
  })
  async listConnectedSelfHostedWorkers(
    @CurrentCaller() { teamUids }: Caller,
  ): Promise<ListConnectedSelfHostedWorkersResponse> {
    const workers = await this.presence.list(teamUids);
    return {
      workers: workers.map((worker) => ({
        ...worker,
        connected_at: worker.connected_at.toISOString(),
        last_seen_at: worker.last_seen_at.toISOString(),
      })),
    };
  }
}

/** Answers requests to the address of workers that are no WebSocket, as a proxy makes them that drops the upgrade. */
@ApiExcludeController()
@Controller(WORKER_SOCKET_PATH)
export class WorkerSocketController {
  @Get()
  @Authenticated()
  workerSocket(): never {
    throw new ProblemError(
      'invalid_request',
      'This address accepts WebSockets only. A proxy in between has to forward the headers Upgrade and Connection.',
    );
  }
}
