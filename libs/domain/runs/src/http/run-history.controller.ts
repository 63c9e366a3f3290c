import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import type { Response } from 'express';
import { Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { Settings } from '#platform/config';
import { Operation, pathId, ProblemError } from '#platform/http';
import { Transcripts } from '#execution/executions';
import { RunsService } from '../application/runs.service.js';
import { TimelineParameters } from './dto/run-requests.dto.js';
import { GetRunTimelineResponse } from './dto/run-responses.dto.js';
import { foundOrThrow } from './problems.js';

const RUN_ID = pathId('uuid');

@Controller('agent/runs/:runId')
export class RunHistoryController {
  constructor(
    private readonly runs: RunsService,
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
    foundOrThrow(await this.runs.find(caller, runId, 'runs:read'));
    const page = await this.runs.timeline(runId, query.limit ?? 1000, query.cursor ?? null);
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
    foundOrThrow(await this.runs.find(caller, runId, 'runs:read'));
    const url = await this.transcripts.linkTo(runId, this.settings.signedUrlTtl);
    if (url === null) throw new ProblemError('resource_not_found', 'The run has no transcript.');
    response.redirect(302, url);
  }
}
