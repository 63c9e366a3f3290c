import { Body, Controller, Param, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { invalidInput, Operation, pathId, ProblemError, rejectionProblem, tooLarge, unwrap } from '#platform/http';
import type { Issue } from '#platform/kernel';
import { MAX_BYTES_OF_RUN, MAX_FILES_OF_RUN } from '../application/followup-attachments.js';
import { RunConversations } from '../application/run-conversations.js';
import { MAX_PENDING_FOLLOWUPS, SubmitFollowup } from '../application/submit-followup.js';
import { RunFollowupRequest } from './dto/run-requests.dto.js';
import { ConversationFollowupResponse, RunFollowupResponse } from './dto/run-responses.dto.js';
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

  private async submit(
    caller: Caller,
    runId: string,
    { message = '', mode, attachments = [] }: RunFollowupRequest,
  ): Promise<RunFollowupResponse> {
    refuseOversized('message', message);
    refuseFileNames(
      attachments.flatMap(({ file_name: name }, index) =>
        name === undefined ? [] : [[`/attachments/${index}/file_name`, name] as const],
      ),
    );
    const chosen = attachments.map(({ attachment_id: id, file_name: fileName }) => ({
      id: id.toLowerCase(),
      fileName,
    }));
    const result = await this.submitFollowup.execute(caller, runId, {
      message,
      mode: mode ?? null,
      attachments: chosen,
    });
    switch (result.kind) {
      case 'accepted':
        return { followup_id: result.followupId, outcome: result.outcome };
      case 'not_found':
      case 'forbidden':
        throw rejectionProblem(result, RUN);
      case 'over_budget':
        throw new ProblemError('budget_exceeded', `${result.reason} It cannot be continued; start another run.`);
      case 'empty_message':
        throw invalidInput([EMPTY_MESSAGE]);
      case 'not_authorized':
        throw new ProblemError('not_authorized', result.detail);
      case 'nothing_to_continue':
        throw new ProblemError('invalid_request', 'The run has no open session and no conversation to continue from.');
      case 'unknown_attachment':
        throw unknownAttachment(`/attachments/${result.index}`);
      case 'too_many_files':
        throw tooLarge({
          pointer: '/attachments',
          detail: `must leave the run with at most ${MAX_FILES_OF_RUN} files and ${MAX_BYTES_OF_RUN} bytes together`,
        });
      case 'too_many':
        throw new ProblemError('conflict', `${MAX_PENDING_FOLLOWUPS} follow-ups already wait for this run.`, {
          retryAfterSeconds: 5,
        });
    }
  }
}

const EMPTY_MESSAGE: Issue = {
  pointer: '/message',
  detail: 'must not be empty unless the run continues from its saved conversation',
};
