import { Body, Controller, Param, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { invalidInput, Operation, pathId, ProblemError, rejectionProblem, tooLarge, unwrap } from '#platform/http';
import type { Issue } from '#platform/kernel';
import { MAX_BYTES_OF_RUN, MAX_FILES_OF_RUN } from '../application/followup-attachments.js';
import { RunConversations } from '../application/run-conversations.js';
import {
  type FollowupInput,
  MAX_PENDING_BYTES,
  MAX_PENDING_FOLLOWUPS,
  SubmitFollowup,
  type SubmitFollowupResult,
} from '../application/submit-followup.js';
import { RunFollowupRequest } from './dto/run-requests.dto.js';
import {
  ConversationFollowupResponse,
  RegisterExternalFollowupResponse,
  RunFollowupResponse,
} from './dto/run-responses.dto.js';
import { CONVERSATION, refuseFileNames, refuseOversized, RUN, unknownAttachment } from './problems.js';

@Controller('agent')
export class FollowupsController {
  constructor(
    private readonly submitFollowup: SubmitFollowup,
    private readonly conversations: RunConversations,
  ) {}

  @Post('runs/:runId/followups')
  @ApiTags('Runs')
  @Authorize('runs:write', 'run')
  @Operation({
    id: 'submitRunFollowup',
    summary: 'Create a follow-up',
    errors: [400, 403, 404, 409, 413, 'unknown_attachment'],
    description:
      'Accepts a message; its destination depends on the run’s state and is returned in `outcome`. Read the run to follow its progress.',
    request: { value: { message: 'Add a test, too.' } },
    success: { status: 200, description: 'Accepted.', type: RunFollowupResponse },
  })
  async ofRun(
    @CurrentCaller() caller: Caller,
    @Param('runId', pathId('uuid')) runId: string,
    @Body() request: RunFollowupRequest,
  ): Promise<RunFollowupResponse> {
    return this.submit(caller, runId, request);
  }

  @Post('runs/:runId/followups/external')
  @ApiTags('Runs')
  @Authorize('runs:write', 'run')
  @Operation({
    id: 'registerExternalFollowup',
    summary: 'Register an external follow-up',
    errors: [400, 403, 404, 409, 413, 'unknown_attachment'],
    description:
      'Continues a run that has ended on a laptop or in a CI job, with its conversation and the files of its last snapshot: creates a follow-up, and an execution that only the holder of the returned token can claim, over the runner protocol, within `CLAIM_DEADLINE`. An idle session of the run is closed first: until then the answer is 409 with `Retry-After`. A later follow-up hands the run over again.',
    request: { value: { message: 'Continue here.' } },
    success: {
      status: 200,
      description: 'The run waits for the caller’s runner.',
      type: RegisterExternalFollowupResponse,
    },
  })
  async register(
    @CurrentCaller() caller: Caller,
    @Param('runId', pathId('uuid')) runId: string,
    @Body() request: RunFollowupRequest,
  ): Promise<RegisterExternalFollowupResponse> {
    const result = await this.submitFollowup.register(caller, runId, toInput(request));
    if (result.kind !== 'accepted') throw refusalOf(result);
    const { followupId, outcome, executionId, token } = result;
    return { followup_id: followupId, outcome, run_id: runId, execution_id: executionId, token };
  }

  @Post('conversations/:conversation_id/followups')
  @ApiTags('Conversations')
  @Authorize('runs:write', 'conversation')
  @Operation({
    id: 'submitConversationFollowup',
    summary: 'Create a follow-up in a conversation',
    errors: [400, 403, 404, 409, 413, 'unknown_attachment'],
    description:
      'Accepts a message for the newest run of the conversation among those that the caller may see, as `POST /agent/runs/{runId}/followups` does for a run.',
    request: { value: { message: 'Add a test, too.' } },
    success: { status: 200, description: 'Accepted.', type: ConversationFollowupResponse },
  })
  async ofConversation(
    @CurrentCaller() caller: Caller,
    @Param('conversation_id', pathId('uuid')) conversationId: string,
    @Body() request: RunFollowupRequest,
  ): Promise<ConversationFollowupResponse> {
    const { newest } = unwrap(await this.conversations.find(caller, conversationId), CONVERSATION);
    return { ...(await this.submit(caller, newest.id, request)), run_id: newest.id };
  }

  private async submit(caller: Caller, runId: string, request: RunFollowupRequest): Promise<RunFollowupResponse> {
    const result = await this.submitFollowup.execute(caller, runId, toInput(request));
    if (result.kind !== 'accepted') throw refusalOf(result);
    return { followup_id: result.followupId, outcome: result.outcome };
  }
}

function toInput({ message = '', mode, attachments = [] }: RunFollowupRequest): FollowupInput {
  refuseOversized('message', message);
  refuseFileNames(
    attachments.flatMap(({ file_name: name }, index) =>
      name === undefined ? [] : [[`/attachments/${index}/file_name`, name] as const],
    ),
  );
  const chosen = attachments.map(({ attachment_id: id, file_name: fileName }) => ({ id: id.toLowerCase(), fileName }));
  return { message, mode: mode ?? null, attachments: chosen };
}

function refusalOf(refused: Exclude<SubmitFollowupResult, { kind: 'accepted' }>): ProblemError {
  switch (refused.kind) {
    case 'not_found':
    case 'forbidden':
      return rejectionProblem(refused, RUN);
    case 'over_budget':
      return new ProblemError('budget_exceeded', `${refused.reason} It cannot be continued; start another run.`);
    case 'empty_message':
      return invalidInput([EMPTY_MESSAGE]);
    case 'not_authorized':
      return new ProblemError('not_authorized', refused.detail);
    case 'nothing_to_continue':
      return new ProblemError('invalid_request', 'The run has no open session and no conversation to continue from.');
    case 'unknown_attachment':
      return unknownAttachment(`/attachments/${refused.index}`);
    case 'too_many_files':
      return tooLarge({
        pointer: '/attachments',
        detail: `must leave the run with at most ${MAX_FILES_OF_RUN} files and ${MAX_BYTES_OF_RUN} bytes together`,
      });
    case 'too_many':
      return new ProblemError(
        'conflict',
        `At most ${MAX_PENDING_FOLLOWUPS} follow-ups with ${MAX_PENDING_BYTES} bytes together wait for a run.`,
        { retryAfterSeconds: 5 },
      );
    case 'in_progress':
      return new ProblemError('invalid_request', 'The run has not ended: wait for its end, or cancel it.');
    case 'no_snapshot':
      return new ProblemError(
        'invalid_request',
        'The run has no stored snapshot, so there are no files to continue with. Register another run in its conversation.',
      );
    case 'session_closing':
      return new ProblemError('conflict', 'The session of the run is being closed: send the request again.', {
        retryAfterSeconds: 1,
      });
  }
}

const EMPTY_MESSAGE: Issue = {
  pointer: '/message',
  detail: 'must not be empty unless the run continues from its saved conversation',
};
