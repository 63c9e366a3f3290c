import { Body, Controller, Headers, Param, Post } from '@nestjs/common';
import { ApiBody, ApiTags } from '@nestjs/swagger';
import { Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { invalidInput, Operation, pathId, rejectionProblem } from '#platform/http';
import { ForkRun } from '../application/fork-run.js';
import type { SnapshotPoint } from '../application/run-snapshots.js';
import { ForkRunRequest } from './dto/run-requests.dto.js';
import { ForkRunResponse } from './dto/run-responses.dto.js';
import { createRunRefusal, noSnapshot, refuseOversized, RUN } from './problems.js';
import { IDEMPOTENCY_KEY, idempotencyClaim, IdempotencyKeyHeader, toAgentConfig } from './run-request-input.js';

@ApiTags('Runs')
@Controller('agent/runs')
export class ForkRunController {
  constructor(private readonly forkRun: ForkRun) {}

  @Post(':runId/fork')
  @Authorize('runs:write', 'run')
  @IdempotencyKeyHeader()
  @ApiBody({ type: ForkRunRequest, required: false })
  @Operation({
    id: 'forkRun',
    summary: 'Fork a run',
    errors: [400, 403, 404, 413, 415, 'idempotency_key_reused'],
    description:
      'Starts one or several runs with exactly the files of a snapshot of this run. With the same harness a fork continues the session as it was then; with another one its agent gets a summary of the conversation. A run that is in progress is forked from its last snapshot. The forks are children of the run (`parent_run_id`).',
    request: { value: { prompt: 'Try the other approach.', config: { harness: { type: 'claude' } } } },
    success: { status: 200, description: 'The forks are queued.', type: ForkRunResponse },
  })
  async fork(
    @CurrentCaller() caller: Caller,
    @Param('runId', pathId('uuid')) runId: string,
    @Body() request: ForkRunRequest,
    @Headers(IDEMPOTENCY_KEY) key?: string,
  ): Promise<ForkRunResponse> {
    refuseOversized('prompt', request.prompt ?? '');
    const { at, prompt, title, metadata, count = 1 } = request;
    const result = await this.forkRun.execute(caller, runId, {
      at: pointOf(at),
      prompt,
      title,
      metadata,
      count,
      config: toAgentConfig(request.config),
      idempotency: idempotencyClaim(key, { fork: request, runId }),
    });
    switch (result.kind) {
      case 'forked': {
        const { id, seq } = result.snapshot;
        return {
          snapshot: { snapshot_id: id, sequence: seq },
          runs: result.runs.map(({ runId: forkId, state, atCapacity }) => ({
            run_id: forkId,
            task_id: forkId,
            state,
            ...(atCapacity ? { at_capacity: true } : {}),
          })),
        };
      }
      case 'no_snapshot':
        throw noSnapshot('at', at);
      case 'not_found':
      case 'forbidden':
        throw rejectionProblem(result, RUN);
      default:
        throw createRunRefusal(result);
    }
  }
}

/** A sequence number may be written as text. */
function pointOf(at: unknown): SnapshotPoint | undefined {
  if (at === undefined || (typeof at === 'string' && !/^\d{1,15}$/.test(at))) return at;
  if (typeof at === 'string') return Number(at);
  if (typeof at === 'number' && Number.isSafeInteger(at) && at >= 0) return at;
  throw invalidInput([{ pointer: '/at', detail: 'must be a string, or an integer of at least 0' }]);
}
