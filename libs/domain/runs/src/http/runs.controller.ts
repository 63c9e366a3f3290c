import { Controller, Get, Param, Post, Query, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { Transcripts } from '#execution/executions';
import { Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { Settings } from '#platform/config';
import { invalidCursor, Operation, pageInfo, pathId, ProblemError, rejectionProblem } from '#platform/http';
import { Attachments } from '../application/attachments.js';
import { ListRuns, type ListRunsResult } from '../application/list-runs.js';
import { ARCHIVE_TYPE, RunSnapshots } from '../application/run-snapshots.js';
import { RunsService } from '../application/runs.service.js';
import { MAX_SEARCH_TERMS, runIdIn, searchWords } from '../domain/run-filters.js';
import { ListHandoffAttachmentsResponse } from './dto/artifact.dto.js';
import { filtersOf, ListRunsParameters, TimelineParameters } from './dto/run-requests.dto.js';
import { GetRunTimelineResponse, HarnessUsageResponse, ListRunsResponse, RunItem } from './dto/run-responses.dto.js';
import { foundOrThrow, interruptRefusal, invalidParameter, RUN } from './problems.js';
import { RunPresenter } from './run-presenter.js';

const RUN_ID = pathId('uuid');
const DEFAULT_LIMIT = 20;
const RETRY_SECONDS = 5;

@ApiTags('Runs')
@Controller('agent/runs')
export class RunsController {
  constructor(
    private readonly runs: RunsService,
    private readonly listRuns: ListRuns,
    private readonly attachments: Attachments,
    private readonly snapshots: RunSnapshots,
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
      'A page has at most `limit` runs, and fewer when they are large (8 MiB of configuration, artifacts and prompts); `has_next_page` says whether more follow.',
    team: true,
    errors: [400, 403, 'feature_not_available'],
    success: { status: 200, description: 'One page of the runs that the caller may see.', type: ListRunsResponse },
  })
  async list(@CurrentCaller() caller: Caller, @Query() query: ListRunsParameters): Promise<ListRunsResponse> {
    rejectContradictions(query);
    if (query.metadata !== undefined && !mayFilterByMetadata(caller)) {
      throw new ProblemError('feature_not_available', 'Filtering by `metadata` is disabled for one of your teams.');
    }
    const result = await this.listRuns.execute(caller, {
      sort: query.sort_by ?? 'updated_at',
      order: query.sort_order ?? 'desc',
      filters: filtersOf(query),
      text: query.q ?? null,
      limit: query.limit ?? DEFAULT_LIMIT,
      cursor: query.cursor ?? null,
    });
    if (result.kind !== 'page') throw listProblem(result);
    return { runs: await this.presenter.runs(result.runs), page_info: pageInfo(result.nextCursor) };
  }

  @Get(':runId')
  @Authorize('runs:read', 'run')
  @Operation({
    id: 'getRun',
    summary: 'Get a run',
    success: { status: 200, description: 'The run.', type: RunItem },
  })
  async get(@CurrentCaller() caller: Caller, @Param('runId', RUN_ID) runId: string): Promise<RunItem> {
    return this.presenter.run(foundOrThrow(await this.runs.find(caller, runId)));
  }

  @Post(':runId/cancel')
  @Authorize('runs:write', 'run')
  @Operation({
    id: 'cancelRun',
    summary: 'Cancel a run',
    errors: [400, 403, 404, 409, 422],
    description:
      'Cancels a run that is queued, claimed, in progress or blocked. The agent and all processes that it started are stopped within seconds.',
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
      case 'not_found':
      case 'forbidden':
        throw rejectionProblem(result, RUN);
      case 'gone':
        throw new ProblemError('invalid_request', `The run has already ended: it is ${result.state}.`);
      case 'busy':
        throw new ProblemError(
          'conflict',
          'The run is being offered to a worker (PENDING). It can be cancelled as soon as the worker has accepted it: send the request again.',
          { retryAfterSeconds: 1 },
        );
      case 'not_supported':
        throw new ProblemError(
          'operation_not_supported',
          'Self-hosted, local and GitHub Action runs cannot be cancelled here; stop them where they run.',
        );
    }
  }

  @Post(':runId/interrupt')
  @Authorize('runs:write', 'run')
  @Operation({
    id: 'interruptRun',
    summary: 'Interrupt a run',
    errors: [400, 403, 404, 409],
    description:
      'Stops the current turn of a run that is in progress or blocked, and keeps its session: the agent is asked to end the turn, its open permission requests are withdrawn, and the run continues as after any turn. Waiting follow-ups are delivered next; without one the run is SUCCEEDED and its session stays open. Another request for the same turn has no further effect.',
    success: { status: 202, description: 'The agent will be asked to end its turn.', schema: { type: 'object' } },
  })
  async interrupt(
    @CurrentCaller() caller: Caller,
    @Param('runId', RUN_ID) runId: string,
  ): Promise<Record<string, never>> {
    const result = await this.runs.interrupt(caller, runId);
    if (result.kind !== 'requested') throw interruptRefusal(result);
    return {};
  }

  @Get(':runId/handoff/attachments')
  @Authorize('runs:read', 'run')
  @Operation({
    id: 'listHandoffAttachments',
    summary: 'List files to hand off a run',
    description:
      'What is needed to continue the run on another machine, with links that are valid without a token: the working directory as it is in the last snapshot, a tar archive that is compressed with gzip, if there is a snapshot; then the attachments of the run and of its follow-ups.',
    success: {
      status: 200,
      description: 'The archive, then the attachments in the order in which they were sent.',
      type: ListHandoffAttachmentsResponse,
    },
  })
  async listAttachments(
    @CurrentCaller() caller: Caller,
    @Param('runId', RUN_ID) runId: string,
  ): Promise<ListHandoffAttachmentsResponse> {
    foundOrThrow(await this.runs.find(caller, runId));
    const [archive, stored] = await Promise.all([
      this.snapshots.lastArchive(caller, runId),
      this.attachments.list(runId),
    ]);
    const workspace = archive && {
      attachment_id: archive.snapshotId,
      filename: `run-${runId}.tar.gz`,
      download_url: archive.url,
      mime_type: ARCHIVE_TYPE,
    };
    const attachments = stored.map(async (attachment) => ({
      attachment_id: attachment.id,
      filename: attachment.file_name,
      download_url: await this.attachments.linkTo(attachment, this.settings.signedUrlTtl),
      mime_type: attachment.mime_type,
    }));
    return { attachments: [...(workspace ? [workspace] : []), ...(await Promise.all(attachments))] };
  }

  @Get(':runId/timeline')
  @Authorize('runs:read', 'run')
  @Operation({
    id: 'getRunTimeline',
    summary: 'Get the timeline of a run',
    success: { status: 200, description: 'Set-up and lifecycle events, oldest first.', type: GetRunTimelineResponse },
  })
  async timeline(
    @CurrentCaller() caller: Caller,
    @Param('runId', RUN_ID) runId: string,
    @Query() query: TimelineParameters,
  ): Promise<GetRunTimelineResponse> {
    foundOrThrow(await this.runs.find(caller, runId));
    const page = await this.runs.timeline(runId, query.limit ?? 1000, query.cursor ?? null);
    if (page.kind === 'invalid_cursor') throw invalidCursor('this timeline');
    const { events, nextCursor } = page;
    return { events, ...(nextCursor === null ? {} : { page_info: pageInfo(nextCursor) }) };
  }

  @Get(':runId/harness-usage')
  @Authorize('runs:read', 'run')
  @Operation({
    id: 'getRunHarnessUsage',
    summary: 'Get the usage snapshot of the harness',
    description:
      'Headrace keeps no usage snapshots of harnesses, so `available` is false. What the agent has used is in `request_usage` of the run. A run that has no conversation yet is a 404.',
    success: { status: 200, description: 'Whether there is a snapshot.', type: HarnessUsageResponse },
  })
  async harnessUsage(
    @CurrentCaller() caller: Caller,
    @Param('runId', RUN_ID) runId: string,
  ): Promise<HarnessUsageResponse> {
    const { id, conversationId } = foundOrThrow(await this.runs.find(caller, runId));
    if (conversationId === null)
      throw new ProblemError('resource_not_found', 'The run has no conversation: its agent has not started yet.');
    return { run_id: id, conversation_id: conversationId, available: false };
  }

  @Get(':runId/transcript')
  @Authorize('runs:read', 'run')
  @Operation({
    id: 'getRunTranscript',
    summary: 'Download the transcript of a run',
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
    foundOrThrow(await this.runs.find(caller, runId));
    const url = await this.transcripts.linkTo(runId, this.settings.signedUrlTtl);
    if (url === null) throw new ProblemError('resource_not_found', 'The run has no transcript.');
    response.redirect(302, url);
  }
}

function rejectContradictions({ skill, skill_spec, q }: ListRunsParameters): void {
  if (skill !== undefined && skill_spec !== undefined && skill !== skill_spec)
    throw invalidParameter({ pointer: '/skill', detail: 'must be the same as skill_spec, or one of them be left out' });
  if (q !== undefined && runIdIn(q) === null && searchWords(q).length > MAX_SEARCH_TERMS)
    throw invalidParameter({ pointer: '/q', detail: `must not exceed ${MAX_SEARCH_TERMS} different words` });
}

const mayFilterByMetadata = ({ principal, teamUids }: Caller): boolean =>
  principal.memberships.every(
    ({ teamUid, team }) => !teamUids.includes(teamUid) || team.features.metadata_filter !== false,
  );

function listProblem(rejection: Exclude<ListRunsResult, { kind: 'page' }>): ProblemError {
  switch (rejection.kind) {
    case 'invalid_cursor':
      return invalidCursor('a list with this sort and these filters');
    case 'invalid':
      return invalidParameter(rejection.issue);
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
