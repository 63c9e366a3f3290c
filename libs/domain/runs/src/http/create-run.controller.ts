import { applyDecorators, Body, Controller, Headers, Post, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { BodyLimit, MIB, Operation } from '#platform/http';
import { CreateRun } from '../application/create-run.js';
import { RegisterExternalRunRequest, RegisterExternalRunResponse, RunAgentRequest } from './dto/run-requests.dto.js';
import { RunAgentResponse } from './dto/run-responses.dto.js';
import { createRunRefusal, refuseOversized } from './problems.js';
import { IDEMPOTENCY_KEY, idempotencyClaim, IdempotencyKeyHeader, toCreateRunCommand } from './run-request-input.js';

const ERRORS = [400, 403, 409, 413, 415, 'idempotency_key_reused'] as const;
const SUCCESS = { status: 200, description: 'The run is queued.', type: RunAgentResponse };
const RUN_EXAMPLE = { value: { prompt: 'Fix the failing test.' } };
/** When `/agent/run` was superseded: 2026-01-01, as RFC 9745 writes a date. */
const DEPRECATED_SINCE = '@1767225600';

const CreatesRun = (): MethodDecorator =>
  applyDecorators(BodyLimit(20 * MIB), Authorize('runs:write', 'run'), IdempotencyKeyHeader());

@ApiTags('Runs')
@Controller('agent')
export class CreateRunController {
  constructor(private readonly createRun: CreateRun) {}

  @Post('runs')
  @CreatesRun()
  @Operation({
    id: 'createRun',
    summary: 'Create a run',
    team: true,
    request: RUN_EXAMPLE,
    success: SUCCESS,
    errors: ERRORS,
    description:
      'Queues a run of an agent, in the mode `normal` unless it names another. An `Idempotency-Key` makes retries safe. `config` may have 512 KiB of JSON, with what an agent identity and skills add to it. Skills are looked up now, and the run executes them as they are now.',
  })
  create(
    @CurrentCaller() caller: Caller,
    @Body() request: RunAgentRequest,
    @Headers(IDEMPOTENCY_KEY) key?: string,
  ): Promise<RunAgentResponse> {
    return this.run(caller, request, key);
  }

  @Post('run')
  @CreatesRun()
  @Operation({
    id: 'runAgent',
    summary: 'Create a run (deprecated)',
    team: true,
    deprecated: true,
    request: RUN_EXAMPLE,
    success: SUCCESS,
    errors: ERRORS,
    description: 'The same as `POST /agent/runs`, which replaces it.',
  })
  createDeprecated(
    @CurrentCaller() caller: Caller,
    @Body() request: RunAgentRequest,
    @Res({ passthrough: true }) response: Response,
    @Headers(IDEMPOTENCY_KEY) key?: string,
  ): Promise<RunAgentResponse> {
    response.setHeader('Deprecation', DEPRECATED_SINCE);
    response.setHeader('Link', '</api/v1/agent/runs>; rel="successor-version"');
    return this.run(caller, request, key);
  }

  @Post('runs/external')
  @CreatesRun()
  @Operation({
    id: 'registerExternalRun',
    summary: 'Register an external run',
    team: true,
    request: RUN_EXAMPLE,
    success: {
      status: 200,
      description: 'The run is registered and waits for the caller’s runner.',
      type: RegisterExternalRunResponse,
    },
    errors: ERRORS,
    description:
      'Creates a run for a laptop or a CI job, as `POST /agent/runs` does, with an execution that only the holder of the returned token can claim, over the runner protocol. It uses none of the slots of the installation. Unclaimed or silent, the run ends `ERROR` with `infrastructure_timeout`. A follow-up after its end hands it over: it continues where runs of its configuration are executed.',
  })
  async register(
    @CurrentCaller() caller: Caller,
    @Body() request: RegisterExternalRunRequest,
    @Headers(IDEMPOTENCY_KEY) key?: string,
  ): Promise<RegisterExternalRunResponse> {
    refuseOversized('prompt', request.prompt);
    const { source = 'CLI', execution_location: location = source === 'GITHUB_ACTION' ? 'REMOTE' : 'LOCAL' } = request;
    const result = await this.createRun.register(caller, location, {
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

  private async run(caller: Caller, request: RunAgentRequest, key: string | undefined): Promise<RunAgentResponse> {
    refuseOversized('prompt', request.prompt);
    const result = await this.createRun.execute(caller, {
      ...toCreateRunCommand(request),
      source: request.parent_run_id === undefined ? 'API' : 'ORCHESTRATION',
      idempotency: idempotencyClaim(key, request),
    });
    if (result.kind !== 'created') throw createRunRefusal(result);
    return {
      run_id: result.runId,
      task_id: result.runId,
      state: result.state,
      ...(result.atCapacity ? { at_capacity: true } : {}),
    };
  }
}
