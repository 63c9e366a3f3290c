import { applyDecorators, Body, Controller, Headers, Param, Post, Res } from '@nestjs/common';
import { ApiBody, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { BodyLimit, MIB, Operation, pathId, ProblemError, rejectionProblem } from '#platform/http';
import { CreateKeyedRun } from '../application/create-keyed-run.js';
import { CreateRun } from '../application/create-run.js';
import { RerunRun } from '../application/rerun-run.js';
import type { CreatedRun } from '../persistence/run-inserts.js';
import {
  RegisterExternalRunRequest,
  RegisterExternalRunResponse,
  RerunRunRequest,
  RunAgentRequest,
} from './dto/run-requests.dto.js';
import { RerunRunResponse, RunAgentResponse } from './dto/run-responses.dto.js';
import { createRunRefusal, followupRefusal, refuseOversized, RUN } from './problems.js';
import {
  IDEMPOTENCY_KEY,
  idempotencyClaim,
  IdempotencyKeyHeader,
  toAgentConfig,
  toConcurrency,
  toCreateRunCommand,
} from './run-request-input.js';

const ERRORS = [400, 403, 409, 413, 415, 'idempotency_key_reused'] as const;
const SUCCESS = { status: 200, description: 'The run is queued.', type: RunAgentResponse };
const RUN_EXAMPLE = { value: { prompt: 'Fix the failing test.' } };
/** When `/agent/run` was superseded: 2026-01-01, as RFC 9745 writes a date. */
const DEPRECATED_SINCE = '@1767225600';

type ShownRun = Pick<CreatedRun, 'runId' | 'state'> & Partial<Pick<CreatedRun, 'atCapacity'>>;
const CONCURRENT_RETRY_SECONDS = 30;

const CreatesRun = (): MethodDecorator =>
  applyDecorators(BodyLimit(20 * MIB), Authorize('runs:write', 'run'), IdempotencyKeyHeader());

@ApiTags('Runs')
@Controller('agent')
export class CreateRunController {
  constructor(
    private readonly createRun: CreateRun,
    private readonly createKeyedRun: CreateKeyedRun,
    private readonly rerunRun: RerunRun,
  ) {}

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

  @Post('runs/:runId/rerun')
  @CreatesRun()
  @ApiBody({ type: RerunRunRequest, required: false })
  @Operation({
    id: 'rerunRun',
    summary: 'Create a rerun of a run',
    request: { value: { prompt: 'Fix the failing test, and add another one.' } },
    success: { status: 200, description: 'The run is queued.', type: RerunRunResponse },
    errors: [400, 403, 404, 413, 415, 'idempotency_key_reused'],
    description:
      'Creates a run with the input of another one, which may be in any state: prompt, title, mode, configuration as it was submitted, agent identity, skills, attachments and labels, with the owner of the source. It is created like any run: what the caller may not use is rejected, and defaults and skills are those of now. The new run begins a new conversation; parent, schedule and trigger are not repeated. An `Idempotency-Key` makes retries safe.',
  })
  async rerun(
    @CurrentCaller() caller: Caller,
    @Param('runId', pathId('uuid')) runId: string,
    @Body() request: RerunRunRequest,
    @Headers(IDEMPOTENCY_KEY) key?: string,
  ): Promise<RerunRunResponse> {
    const { prompt, title, mode, metadata } = request;
    if (prompt !== undefined) refuseOversized('prompt', prompt);
    const overrides = { prompt, title, mode, metadata, config: toAgentConfig(request.config) };
    const claim = idempotencyClaim(key, { rerun_of: runId, ...request });
    const result = await this.rerunRun.execute(caller, runId, overrides, claim);
    switch (result.kind) {
      case 'created':
        return { ...toResponse(result), rerun_of: runId };
      case 'not_found':
      case 'forbidden':
        throw rejectionProblem(result, RUN);
      case 'attachment_missing':
        throw new ProblemError('resource_not_found', `The attachment ${result.fileName} is no longer stored.`);
      default:
        throw createRunRefusal(result);
    }
  }

  private async run(caller: Caller, request: RunAgentRequest, key: string | undefined): Promise<RunAgentResponse> {
    refuseOversized('prompt', request.prompt);
    const command = {
      ...toCreateRunCommand(request),
      source: request.parent_run_id === undefined ? 'API' : 'ORCHESTRATION',
      idempotency: idempotencyClaim(key, request),
    } as const;
    const concurrency = toConcurrency(request.concurrency);
    const result = await (concurrency === null
      ? this.createRun.execute(caller, command)
      : this.createKeyedRun.execute(caller, command, concurrency));
    switch (result.kind) {
      case 'created':
        return toResponse(result);
      case 'continued':
        return { ...toResponse(result), continued: true };
      case 'not_continued':
        throw followupRefusal(result.reason);
      case 'concurrent':
        throw new ProblemError(
          'conflict',
          `The run ${result.runId} with the same concurrency key ${request.concurrency?.policy === 'skip' ? 'is active' : 'is for a newer request'}.`,
          { retryAfterSeconds: CONCURRENT_RETRY_SECONDS },
        );
      default:
        throw createRunRefusal(result);
    }
  }
}

const toResponse = ({ runId, state, atCapacity = false }: ShownRun): RunAgentResponse => ({
  run_id: runId,
  task_id: runId,
  state,
  ...(atCapacity ? { at_capacity: true } : {}),
});
