import { Body, Controller, Get, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Audited, Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { invalidCursor, invalidInput, Operation, pageInfo, pathId, ProblemError } from '#platform/http';
import { ApprovalInbox } from '../application/approval-inbox.js';
import { ApprovalsService } from '#execution/executions';
import { RunEnvironmentPolicy } from '../application/run-environment-policy.js';
import { RunsService } from '../application/runs.service.js';
import { ApprovalDecisionRequest, ListApprovalsParameters } from './dto/run-requests.dto.js';
import { ApprovalInboxResponse, ApprovalItem, ListApprovalsResponse } from './dto/run-responses.dto.js';
import { foundOrThrow } from './problems.js';
import { RunPresenter } from './run-presenter.js';

const RUN_ID = pathId('uuid');
const DEFAULT_LIMIT = 20;

@ApiTags('Approvals')
@Controller('agent')
export class ApprovalsController {
  constructor(
    private readonly runs: RunsService,
    private readonly approvals: ApprovalsService,
    private readonly inbox: ApprovalInbox,
    private readonly environment: RunEnvironmentPolicy,
    private readonly presenter: RunPresenter,
  ) {}

  @Get('approvals')
  @Authorize('runs:read')
  @Operation({
    id: 'listApprovals',
    summary: 'List permission requests and questions of all runs',
    errors: [400, 403],
    team: true,
    description: 'Permission requests and questions of runs. With `state=pending` those that can be answered now.',
    success: { status: 200, description: 'One page.', type: ApprovalInboxResponse },
  })
  async listOfAll(
    @CurrentCaller() caller: Caller,
    @Query() query: ListApprovalsParameters,
  ): Promise<ApprovalInboxResponse> {
    const { state = null, limit = DEFAULT_LIMIT, cursor = null } = query;
    const page = await this.inbox.list(caller, state, limit, cursor);
    if (page.kind === 'invalid_cursor') throw invalidCursor('this list');
    return { approvals: await this.presenter.approvals(page.items), page_info: pageInfo(page.nextCursor) };
  }

  @Get('runs/:runId/approvals')
  @Authorize('runs:read', 'run')
  @Operation({
    id: 'listRunApprovals',
    summary: 'List permission requests and questions of a run',
    description:
      'All of the run, over all its executions. `rules` are the answers `allow_always`: what is the same is allowed for the rest of the run, without another question.',
    success: { status: 200, description: 'Pending and decided requests, oldest first.', type: ListApprovalsResponse },
  })
  async list(@CurrentCaller() caller: Caller, @Param('runId', RUN_ID) runId: string): Promise<ListApprovalsResponse> {
    foundOrThrow(await this.runs.find(caller, runId));
    const [approvals, rules] = await Promise.all([this.approvals.list(runId), this.approvals.listRules(runId)]);
    return { approvals: await this.presenter.approvals(approvals), rules: await this.presenter.approvals(rules) };
  }

  @Post('runs/:runId/approvals/:approvalId')
  @Authorize('runs:write', 'run')
  @Audited('approval.decided', { values: ['decision'] })
  @Operation({
    id: 'decideRunApproval',
    summary: 'Decide a permission request or a question',
    errors: [400, 403, 404, 409],
    description:
      'The first answer counts; every later one is a 409. Only users who may use the environment of the run allow, or send a note, and never the agent identity that executes it. `allow_always` also answers what else waits in the run and is the same. A question of the agent is answered with `answer`, under the same conditions as a permission request is allowed.',
    request: { value: { decision: 'allow' } },
    success: { status: 200, description: 'The decided request.', type: ApprovalItem },
  })
  async decide(
    @CurrentCaller() caller: Caller,
    @Param('runId', RUN_ID) runId: string,
    @Param('approvalId', pathId(/^[A-Za-z0-9._-]{1,128}$/)) approvalId: string,
    @Body() request: ApprovalDecisionRequest,
  ): Promise<ApprovalItem> {
    const run = foundOrThrow(await this.runs.find(caller, runId));
    const { type, uid } = caller.principal;
    const { decision, note = null, option_id: optionId = null, text = null } = request;
    if (caller.principal.isAgentIdentity === true && run.executor.uid === uid)
      throw new ProblemError(
        'not_authorized',
        'The agent identity that executes a run cannot decide its permission requests.',
      );
    const refused = decision === 'deny' && note === null ? null : await this.environment.refusal(caller, run);
    if (refused !== null) throw new ProblemError('not_authorized', refused);
    const result = await this.approvals.decide(runId, approvalId, { decision, note, optionId, text }, { type, uid });
    if (result.kind === 'not_found')
      throw new ProblemError('resource_not_found', 'The run has no permission request with this id.');
    if (result.kind === 'invalid') throw invalidInput(result.issues);
    const [item] = await this.presenter.approvals([result.approval]);
    if (!item) throw new Error('A decided approval could not be presented.');
    if (result.kind === 'too_late') throw new ProblemError('conflict', tooLate(item));
    return item;
  }
}

function tooLate({ kind, state, decided_by: by }: ApprovalItem): string {
  if (state === 'pending') return 'The run does not wait for an answer any more.';
  if (kind === 'permission') return `The request was decided before: it is ${state}.`;
  const person = by?.display_name === undefined ? '' : ` by ${by.display_name}`;
  return `The question was decided before: it is ${state}${person}.`;
}
