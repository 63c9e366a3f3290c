import { Body, Controller, Get, Param, Post, Query, Res } from '@nestjs/common';
import type { Response } from 'express';
import { Authorize, type Caller, CurrentCaller } from '#libs/auth';
import { Settings } from '#libs/config';
import { Operation, pathId, ProblemError } from '#libs/http';
import { Transcripts } from '../application/execution/transcripts.js';
import { DecideApproval } from '../application/decide-approval.js';
import { ReadTimeline } from '../application/read-timeline.js';
import { RunAccess } from '../application/run-access.js';
import { ApprovalsStore } from '../persistence/approvals.store.js';
import { ApprovalDecisionRequest, TimelineParameters } from './dto/run-requests.dto.js';
import { ApprovalItem, GetRunTimelineResponse, ListApprovalsResponse } from './dto/run-responses.dto.js';
import { foundOrThrow } from './outcomes.js';
import { RunPresenter } from './run-presenter.js';

const RUN_ID = pathId('uuid');

@Controller('agent/runs/:runId')
export class RunHistoryController {
  constructor(
    private readonly access: RunAccess,
    private readonly readTimeline: ReadTimeline,
    private readonly transcripts: Transcripts,
    private readonly settings: Settings,
  ) {}

  @Get('timeline')
  @Authorize('runs:read')
  @Operation({
    id: 'getRunTimeline',
    summary: 'Get a run’s timeline',
    tag: 'Runs',
    errors: [400, 403, 404],
    success: { status: 200, description: 'Set-up and lifecycle events, oldest first.', type: GetRunTimelineResponse },
  })
  async timeline(
    @CurrentCaller() caller: Caller,
    @Param('runId', RUN_ID) runId: string,
    @Query() query: TimelineParameters,
  ): Promise<GetRunTimelineResponse> {
    foundOrThrow(await this.access.find(caller, runId, 'runs:read'));
    const page = await this.readTimeline.execute(runId, query.limit ?? 1000, query.cursor ?? null);
    if (page === 'bad_cursor') {
      const detail = 'is not a cursor of this timeline';
      throw new ProblemError('invalid_request', `Query parameter \`cursor\` ${detail}.`, {
        errors: [{ pointer: '/cursor', detail }],
      });
    }
    const { events, nextCursor } = page;
    return { events, ...(nextCursor === null ? {} : { page_info: { has_next_page: true, next_cursor: nextCursor } }) };
  }

  @Get('transcript')
  @Authorize('runs:read')
  @Operation({
    id: 'getRunTranscript',
    summary: 'Download a run’s raw transcript',
    tag: 'Runs',
    errors: [400, 403, 404],
    success: {
      status: 302,
      description: 'The transcript (JSON lines) is at `Location`, for a limited time.',
      headers: { Location: 'Time-limited download URL.' },
    },
  })
  async transcript(
    @CurrentCaller() caller: Caller,
    @Param('runId', RUN_ID) runId: string,
    @Res() response: Response,
  ): Promise<void> {
    foundOrThrow(await this.access.find(caller, runId, 'runs:read'));
    const url = await this.transcripts.linkTo(runId, this.settings.signedUrlTtl);
    if (url === null) throw new ProblemError('resource_not_found', 'The run has no transcript.');
    response.redirect(302, url);
  }
}

@Controller('agent/runs/:runId/approvals')
export class ApprovalsController {
  constructor(
    private readonly access: RunAccess,
    private readonly approvals: ApprovalsStore,
    private readonly decideApproval: DecideApproval,
    private readonly presenter: RunPresenter,
  ) {}

  @Get()
  @Authorize('runs:read')
  @Operation({
    id: 'listRunApprovals',
    summary: 'List a run’s permission requests',
    tag: 'Approvals',
    errors: [400, 403, 404],
    success: { status: 200, description: 'Pending and decided requests, oldest first.', type: ListApprovalsResponse },
  })
  async list(@CurrentCaller() caller: Caller, @Param('runId', RUN_ID) runId: string): Promise<ListApprovalsResponse> {
    foundOrThrow(await this.access.find(caller, runId, 'runs:read'));
    return { approvals: await this.presenter.approvals(await this.approvals.list(runId)) };
  }

  // Whether one may write depends on whose run it is, and one's own needs no role.
  @Post(':approvalId')
  @Authorize('runs:read')
  @Operation({
    id: 'decideRunApproval',
    summary: 'Allow or deny a permission request',
    tag: 'Approvals',
    errors: [400, 403, 404, 409, 413, 415],
    success: { status: 200, description: 'The decided request.', type: ApprovalItem },
  })
  async decide(
    @CurrentCaller() caller: Caller,
    @Param('runId', RUN_ID) runId: string,
    @Param('approvalId', pathId(/^[A-Za-z0-9._-]{1,128}$/)) approvalId: string,
    @Body() request: ApprovalDecisionRequest,
  ): Promise<ApprovalItem> {
    foundOrThrow(await this.access.find(caller, runId, 'runs:write'));
    const { type, uid } = caller.principal;
    const result = await this.decideApproval.execute(runId, approvalId, request.decision, request.note ?? null, {
      type,
      uid,
    });
    if (result.kind === 'unknown')
      throw new ProblemError('resource_not_found', 'The run has no permission request with this id.');
    if (result.kind === 'too_late') throw new ProblemError('conflict', tooLate(result.approval.state));
    const [item] = await this.presenter.approvals([result.approval]);
    if (!item) throw new Error('A decided approval could not be presented.');
    return item;
  }
}

function tooLate(state: ApprovalItem['state']): string {
  return state === 'pending'
    ? 'The run does not wait for an answer any more.'
    : `The request was decided before: it is ${state}.`;
}
