import { Body, Controller, HttpCode, Param, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { Operation, pathId, unwrap } from '#platform/http';
import { FollowupAttachments, MAX_PREPARED } from '../application/followup-attachments.js';
import { RunConversations } from '../application/run-conversations.js';
import { RunsService } from '../application/runs.service.js';
import { PrepareAttachmentsRequest, PrepareAttachmentsResponse } from './dto/followup-attachment.dto.js';
import { CONVERSATION, foundOrThrow, refuseFileNames } from './problems.js';

const RUN_ID = pathId('uuid');
const STEPS = `Send the content of each file with \`PUT\` to its \`upload_url\`, without a token, within the time that a link is valid. Then name the files in \`attachments\` of a follow-up. Of more than ${MAX_PREPARED} files that were not sent, the oldest are discarded.`;
const EXAMPLE = { value: { files: [{ filename: 'screenshot.png', mime_type: 'image/png' }] } };

@Controller('agent')
export class FollowupAttachmentsController {
  constructor(
    private readonly runs: RunsService,
    private readonly conversations: RunConversations,
    private readonly attachments: FollowupAttachments,
  ) {}

  @Post('runs/:runId/attachments/prepare')
  @HttpCode(200)
  @ApiTags('Runs')
  @Authorize('runs:write', 'run')
  @Operation({
    id: 'prepareRunAttachments',
    summary: 'Create upload links for a follow-up',
    errors: [400, 403, 404],
    description: STEPS,
    request: EXAMPLE,
    success: { status: 200, description: 'In the order of the request.', type: PrepareAttachmentsResponse },
  })
  async ofRun(
    @CurrentCaller() caller: Caller,
    @Param('runId', RUN_ID) runId: string,
    @Body() request: PrepareAttachmentsRequest,
  ): Promise<PrepareAttachmentsResponse> {
    return this.prepare(caller, runId, request);
  }

  @Post('conversations/:conversation_id/attachments/prepare')
  @HttpCode(200)
  @ApiTags('Conversations')
  @Authorize('runs:write', 'conversation')
  @Operation({
    id: 'prepareConversationAttachments',
    summary: 'Create upload links for a follow-up in a conversation',
    errors: [400, 403, 404],
    description: `For the newest run of the conversation among those that the caller may see. ${STEPS} If a newer run has joined the conversation meanwhile, the follow-up is rejected with 422: prepare the files again.`,
    request: EXAMPLE,
    success: { status: 200, description: 'In the order of the request.', type: PrepareAttachmentsResponse },
  })
  async ofConversation(
    @CurrentCaller() caller: Caller,
    @Param('conversation_id', pathId('uuid')) conversationId: string,
    @Body() request: PrepareAttachmentsRequest,
  ): Promise<PrepareAttachmentsResponse> {
    const { newest } = unwrap(await this.conversations.find(caller, conversationId), CONVERSATION);
    return this.prepare(caller, newest.id, request);
  }

  private async prepare(
    caller: Caller,
    runId: string,
    { files }: PrepareAttachmentsRequest,
  ): Promise<PrepareAttachmentsResponse> {
    foundOrThrow(await this.runs.find(caller, runId));
    refuseFileNames(files.map(({ filename }, index) => [`/files/${index}/filename`, filename]));
    const named = files.map(({ filename, mime_type }) => ({ fileName: filename, mimeType: mime_type }));
    const prepared = await this.attachments.prepare(runId, named);
    return { attachments: prepared.map(({ id, uploadUrl }) => ({ attachment_id: id, upload_url: uploadUrl })) };
  }
}
