import { Body, Controller, Get, Param, Post, Query, Res } from '@nestjs/common';
import type { Response } from 'express';
import { Transcripts } from '#execution/executions';
import { Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { Settings } from '#platform/config';
import { invalidCursor, invalidInput, Operation, pageInfo, pathId, ProblemError } from '#platform/http';
import type { Issue } from '#platform/kernel';
import { ListRuns, type ListRunsResult } from '../application/list-runs.js';
import { RunsService } from '../application/runs.service.js';
import { MAX_PENDING_FOLLOWUPS, SubmitFollowup } from '../application/submit-followup.js';
import { MAX_SEARCH_TERMS, searchWords } from '../domain/run-filters.js';
import { filtersOf, ListRunsParameters } from './dto/list-runs.dto.js';
import { RunFollowupRequest, TimelineParameters } from './dto/run-requests.dto.js';
import { GetRunTimelineResponse, ListRunsResponse, RunFollowupResponse, RunItem } from './dto/run-responses.dto.js';
import { foundOrThrow, notYours, refuseOversized, unknownRun } from './problems.js';
import { RunPresenter } from './run-presenter.js';

const RUN_ID = pathId('uuid');
const DEFAULT_LIMIT = 20;
const RETRY_SECONDS = 5;

@Controller('agent/runs')
export class RunsController {
  constructor(
    private readonly runs: RunsService,
    private readonly listRuns: ListRuns,
    private readonly submitFollowup: SubmitFollowup,
    private readonly transcripts: Transcripts,
    private readonly presenter: RunPresenter,
    private readonly settings: Settings,
  ) {}

  @Get()
  @Authorize('runs:read')
  @Operation({
    id: 'listRuns',
    summary: 'List runs',
    description:
      'A page has at most `limit` runs, and fewer when they are large (8 MiB of configuration, artifacts and prompts); `has_next_page` tells whether more follow.',
    tag: 'Runs',
    team: true,
    errors: [400, 403, 'feature_not_available'],
    success: { status: 200, description: 'One page of the runs that the caller may see.', type: ListRunsResponse },
  })
  async list(@CurrentCaller() caller: Caller, @Query() query: ListRunsParameters): Promise<ListRunsResponse> {
    refuseContradictions(query);
    if (query.metadata !== undefined && !mayFilterByMetadata(caller)) {
      throw new ProblemError('feature_not_available', 'Filtering by `metadata` is switched off for a team of yours.');
    }
    const result = await this.listRuns.execute(caller, {
      sort: query.sort_by ?? 'updated_at',
      order: query.sort_order ?? 'desc',
      filters: filtersOf(query),
      text: query.q ?? null,
      limit: query.limit ?? DEFAULT_LIMIT,
      cursor: query.cursor ?? null,
    });
    if (result.kind !== 'page') throw problemOf(result);
    const { nextCursor } = result;
    return {
      runs: await this.presenter.runs(result.runs),
      page_info: pageInfo(nextCursor),
    };
  }

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
    summary: 'Create a follow-up',
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

  @Get(':runId/timeline')
  @Authorize('runs:read')
  @Operation({
    id: 'getRunTimeline',
    summary: 'Get the timeline of a run',
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
    if (page === 'bad_cursor') throw invalidCursor('this timeline');
    const { events, nextCursor } = page;
    return { events, ...(nextCursor === null ? {} : { page_info: { has_next_page: true, next_cursor: nextCursor } }) };
  }

  @Get(':runId/transcript')
  @Authorize('runs:read')
  @Operation({
    id: 'getRunTranscript',
    summary: 'Download the transcript of a run',
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

/** What the fields alone do not say. */
function refuseContradictions({ skill, skill_spec, q }: ListRunsParameters): void {
  if (skill !== undefined && skill_spec !== undefined && skill !== skill_spec)
    throw refused({ pointer: '/skill', detail: 'must be the same as skill_spec, or one of them be left out' });
  if (q !== undefined && searchWords(q).length > MAX_SEARCH_TERMS)
    throw refused({ pointer: '/q', detail: `must not exceed ${MAX_SEARCH_TERMS} different words` });
}

const mayFilterByMetadata = ({ principal, teamUids }: Caller): boolean =>
  principal.memberships.every(
    ({ teamUid, team }) => !teamUids.includes(teamUid) || team.features.metadata_filter !== false,
  );

const refused = (issue: Issue): ProblemError =>
  new ProblemError('invalid_request', `Query parameter \`${issue.pointer.slice(1)}\` ${issue.detail}.`, {
    errors: [issue],
  });

function problemOf({ kind }: Exclude<ListRunsResult, { kind: 'page' }>): ProblemError {
  switch (kind) {
    case 'bad_cursor':
      return invalidCursor('a list with this sort and these filters');
    case 'unknown_ancestor':
      return refused({ pointer: '/ancestor_run_id', detail: 'must be a run that exists and that you may see' });
    case 'too_slow':
      return new ProblemError(
        'resource_unavailable',
        'The search took too long. Narrow it: a longer or rarer word in `q`, a time with `created_after` or `updated_after`, or one more filter.',
        { retryAfterSeconds: RETRY_SECONDS },
      );
    case 'busy':
      return new ProblemError('resource_unavailable', 'Too many searches are under way. Try again in a moment.', {
        retryAfterSeconds: RETRY_SECONDS,
      });
  }
}

const badMessage = (detail: string): ProblemError => invalidInput([{ pointer: '/message', detail }]);
