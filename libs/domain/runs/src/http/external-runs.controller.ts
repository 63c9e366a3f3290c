import { Body, Controller, Headers, Post } from '@nestjs/common';
import { Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { BodyLimit, MIB, Operation } from '#platform/http';
import { RegisterExternalRun } from '../application/register-external-run.js';
import type { RunExecutionLocation } from '../domain/run.js';
import { createRunRefusal } from './create-run-refusals.js';
import {
  type ExternalSource,
  RegisterExternalRunRequest,
  RegisterExternalRunResponse,
} from './dto/external-run.dto.js';
import { IDEMPOTENCY_KEY, idempotencyClaim, IdempotencyKeyHeader } from './idempotency.js';
import { refuseOversized } from './outcomes.js';
import { toCreateRunCommand } from './run-request-input.js';

@Controller('agent/runs')
export class ExternalRunsController {
  constructor(private readonly registerRun: RegisterExternalRun) {}

  @Post('external')
  @BodyLimit(20 * MIB)
  @Authorize('runs:read')
  @IdempotencyKeyHeader()
  @Operation({
    id: 'registerExternalRun',
    summary: 'Register a run that the caller executes',
    tag: 'Runs',
    team: true,
    request: { value: { prompt: 'Fix the failing test.' } },
    success: {
      status: 200,
      description: 'The run is registered and waits for the caller’s runner.',
      type: RegisterExternalRunResponse,
    },
    errors: [400, 403, 409, 413, 415, 'idempotency_key_reused'],
    description:
      'For a laptop or a CI job: creates a run as `POST /agent/runs` does, with an execution that only the holder of the answered token can claim, over the runner protocol. It takes none of the service’s slots. Unclaimed or silent, the run ends `ERROR` with `infrastructure_timeout`. A follow-up after its end hands it over: it continues where runs of its configuration are executed.',
  })
  async register(
    @CurrentCaller() caller: Caller,
    @Body() request: RegisterExternalRunRequest,
    @Headers(IDEMPOTENCY_KEY) key?: string,
  ): Promise<RegisterExternalRunResponse> {
    refuseOversized('prompt', request.prompt);
    const { source = 'CLI', execution_location: location = usualLocation(source) } = request;
    const result = await this.registerRun.execute(caller, location, {
      ...toCreateRunCommand(request),
      source,
      // The same body at the other address is another request: its run has no execution to hand out.
      idempotency: idempotencyClaim(key, { external: request }),
    });
    if (result.kind !== 'created') throw createRunRefusal(result);
    return {
      run_id: result.runId,
      task_id: result.runId,
      state: result.state,
      execution_id: result.executionId,
      token: result.token,
    };
  }
}

const usualLocation = (source: ExternalSource): RunExecutionLocation =>
  source === 'GITHUB_ACTION' ? 'REMOTE' : 'LOCAL';
