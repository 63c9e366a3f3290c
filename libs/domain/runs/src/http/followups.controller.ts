import { Body, Controller, Param, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { Operation, pathId, unwrap } from '#platform/http';
import { RunConversations } from '../application/run-conversations.js';
import { type FollowupInput, SubmitFollowup } from '../application/submit-followup.js';
import { RunFollowupRequest } from './dto/run-requests.dto.js';
import {
  ConversationFollowupResponse,
  RegisterExternalFollowupResponse,
  RunFollowupResponse,
} from './dto/run-responses.dto.js';
import { CONVERSATION, followupRefusal, refuseFileNames, refuseOversized } from './problems.js';

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
    if (result.kind !== 'accepted') throw followupRefusal(result);
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
    if (result.kind !== 'accepted') throw followupRefusal(result);
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
