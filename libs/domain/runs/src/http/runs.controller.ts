import { Body, Controller, Get, Param, Post, Res } from '@nestjs/common';
import type { Response } from 'express';
import { Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { Operation, pathId, ProblemError } from '#platform/http';
import { RunsService } from '../application/runs.service.js';
import { MAX_PENDING_FOLLOWUPS, SubmitFollowup } from '../application/submit-followup.js';
import { RunFollowupRequest } from './dto/run-requests.dto.js';
import { RunFollowupResponse, RunItem } from './dto/run-responses.dto.js';
import { foundOrThrow, notYours, refuseOversized, unknownRun } from './problems.js';
import { RunPresenter } from './run-presenter.js';

const RUN_ID = pathId('uuid');

@Controller('agent/runs')
export class RunsController {
  constructor(
    private readonly runs: RunsService,
    private readonly submitFollowup: SubmitFollowup,
    private readonly presenter: RunPresenter,
  ) {}

  @Get(':runId')
  @Authorize('runs:read')
  @Operation({
    id: 'getRun',
    summary: 'Get a run',
    tag: 'Runs',
    errors: [400, 403, 404],
    success: { status: 200, description: 'The run.', type: RunItem },
  })
  async get(@CurrentCaller() caller: Caller, @Param('runId', RUN_ID) runId: string): Promise<RunItem> {
    return this.presenter.run(foundOrThrow(await this.runs.find(caller, runId, 'runs:read')));
  }

  // The use case checks the permission to write, here and for follow-ups: it depends on the owner, and a personal run needs no role.
  @Post(':runId/cancel')
  @Authorize('runs:read')
  @Operation({
    id: 'cancelRun',
    summary: 'Cancel a run',
    tag: 'Runs',
    errors: [400, 403, 404, 409, 422],
    description:
      'Cancels a run that is queued, claimed, in progress or blocked. The agent and everything it started is gone within seconds.',
    success: { status: 200, description: 'The id of the cancelled run.', schema: { type: 'string', format: 'uuid' } },
  })
  async cancel(
    @CurrentCaller() caller: Caller,
    @Param('runId', RUN_ID) runId: string,
    @Res() response: Response,
  ): Promise<void> {
    const result = await this.runs.cancel(caller, runId);
    switch (result.kind) {
      case 'cancelled':
        response.json(result.runId);
        return;
      case 'unknown':
        throw unknownRun();
      case 'not_yours':
        throw notYours();
      case 'gone':
        throw new ProblemError('invalid_request', `The run has already ended: it is ${result.state}.`);
      case 'busy':
        throw new ProblemError(
          'conflict',
          'The run is being offered to a worker (PENDING). It can be cancelled as soon as the worker has accepted it: send the request again.',
          {
            retryAfterSeconds: 1,
          },
        );
      case 'not_supported':
        throw new ProblemError(
          'operation_not_supported',
          'Self-hosted, local and GitHub Action runs cannot be cancelled here; stop them where they run.',
        );
    }
  }

  @Post(':runId/followups')
  @Authorize('runs:read')
  @Operation({
    id: 'submitRunFollowup',
    summary: 'Send a follow-up message',
    tag: 'Runs',
    errors: [400, 403, 404, 409, 413, 415],
    description:
      'Accepts a message; its destination depends on the run’s state and is returned in `outcome`. Read the run to follow its progress.',
    request: { value: { message: 'Add a test, too.' } },
    success: { status: 200, description: 'Accepted.', type: RunFollowupResponse },
  })
  async followup(
    @CurrentCaller() caller: Caller,
    @Param('runId', RUN_ID) runId: string,
    @Body() request: RunFollowupRequest,
  ): Promise<RunFollowupResponse> {
    refuseOversized('message', request.message ?? '');
    const result = await this.submitFollowup.execute(caller, runId, request.message ?? '', request.mode ?? null);
    switch (result.kind) {
      case 'accepted':
        return { followup_id: result.followupId, outcome: result.outcome };
      case 'unknown':
        throw unknownRun();
      case 'not_yours':
        throw notYours();
      case 'over_budget':
        throw new ProblemError('budget_exceeded', `${result.reason} It cannot be continued; start another run.`);
      case 'empty_message':
        throw badMessage('must not be empty unless the run continues from its saved conversation');
      case 'not_authorized':
        throw new ProblemError('not_authorized', result.detail);
      case 'nothing_to_continue':
        throw new ProblemError('invalid_request', 'The run has no open session and no conversation to continue from.');
      case 'too_many':
        throw new ProblemError('conflict', `${MAX_PENDING_FOLLOWUPS} follow-ups already wait for this run.`, {
          retryAfterSeconds: 5,
        });
    }
  }
}

function badMessage(detail: string): ProblemError {
  return new ProblemError('invalid_request', `\`message\` ${detail}.`, { errors: [{ pointer: '/message', detail }] });
}
