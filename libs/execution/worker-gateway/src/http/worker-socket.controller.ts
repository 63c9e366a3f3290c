import { Controller, Get } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Authorize } from '#platform/auth';
import { ProblemError } from '#platform/http';
import { WORKER_SOCKET_PATH } from '#execution/worker-protocol';

/** Who comes to the workers' address without asking for a WebSocket, most often by way of a proxy that does not pass it on. */
@ApiExcludeController()
@Controller(WORKER_SOCKET_PATH)
export class WorkerSocketController {
  @Get()
  @Authorize('runs:read')
  workerSocket(): never {
    throw new ProblemError(
      'invalid_request',
      'This address takes WebSockets only. A proxy in between has to pass on the headers Upgrade and Connection.',
    );
  }
}
