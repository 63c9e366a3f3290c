import { Body, Controller, Get, HttpCode, Param, Post, Query, Res, UseGuards, UseInterceptors } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Response } from 'express';
import { ExecutionTokenGuard, leaseLost, LeaseParameters, SanitizeBody, SMALL_BODY } from '#execution/executions';
import type { ChildRunAnswer, StartRunAnswer, WaitForRunsAnswer } from '#execution/runner-protocol';
import { BodyLimit, invalidInput, MIB, RunnerProtocol, Shutdown } from '#platform/http';
import { isUuid } from '#platform/kernel';
import { ChildRuns } from '../application/child-runs.js';
import { StartRunBody, WaitForRunsBody } from './dto/child-run.dto.js';
import { refuseOversized } from './problems.js';

/** Part of the runner protocol: the runs that the agent of a run starts. See docs/runner-protocol.md. */
@ApiExcludeController()
@Controller('runner/v1/executions/:executionId/runs')
@UseGuards(ExecutionTokenGuard)
export class RunnerRunsController {
  constructor(
    private readonly children: ChildRuns,
    private readonly shutdown: Shutdown,
  ) {}

  @Post()
  @HttpCode(200)
  @RunnerProtocol()
  @BodyLimit(2 * MIB)
  @UseInterceptors(SanitizeBody)
  async start(
    @Param('executionId') executionId: string,
    @Body() { lease_epoch: leaseEpoch, ...request }: StartRunBody,
  ): Promise<StartRunAnswer> {
    refuseOversized('prompt', request.prompt);
    return held(await this.children.start(executionId, leaseEpoch, request));
  }

  @Post('wait')
  @HttpCode(200)
  @RunnerProtocol()
  @BodyLimit(SMALL_BODY)
  async wait(
    @Param('executionId') executionId: string,
    @Body() { lease_epoch: leaseEpoch, ...request }: WaitForRunsBody,
    @Res({ passthrough: true }) response: Response,
  ): Promise<WaitForRunsAnswer> {
    const issues = request.run_ids.flatMap((id, index) =>
      isUuid(id) ? [] : [{ pointer: `/run_ids/${index}`, detail: 'must be a UUID' }],
    );
    if (issues.length > 0) throw invalidInput(issues);
    const abort = new AbortController();
    const forget = this.shutdown.onShutdown(() => abort.abort());
    response.once('close', () => abort.abort());
    try {
      return held(await this.children.wait(executionId, leaseEpoch, request, abort.signal));
    } finally {
      forget();
    }
  }

  @Get(':runId')
  @RunnerProtocol()
  async get(
    @Param('executionId') executionId: string,
    @Param('runId') runId: string,
    @Query() { lease_epoch: leaseEpoch }: LeaseParameters,
  ): Promise<ChildRunAnswer> {
    return held(await this.children.get(executionId, leaseEpoch, runId));
  }
}

function held<Answer>(answer: Answer | 'lease_lost'): Answer {
  if (answer === 'lease_lost') throw leaseLost();
  return answer;
}
