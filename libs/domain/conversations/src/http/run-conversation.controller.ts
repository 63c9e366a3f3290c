import { Controller, Get, Param } from '@nestjs/common';
import { ApiExtraModels } from '@nestjs/swagger';
import { Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { Operation, pathId } from '#platform/http';
import { foundOrThrow, RunLog } from '#domain/runs';
import { ReadConversation } from '../application/read-conversation.js';
import { BLOCK_CLASSES, ConversationResponse } from './conversation.dto.js';
import { readingOrThrow } from './outcomes.js';

@ApiExtraModels(...BLOCK_CLASSES)
@Controller('agent/runs/:runId/conversation')
export class RunConversationController {
  constructor(
    private readonly log: RunLog,
    private readonly readConversation: ReadConversation,
  ) {}

  @Get()
  @Authorize('runs:read')
  @Operation({
    id: 'getRunConversation',
    summary: 'Get a run’s conversation',
    description:
      'Normalised to the same steps, messages and blocks whichever agent the run used. While the run goes on it grows at its end, and results of running actions change in place.',
    tag: 'Conversations',
    errors: [400, 403, 404, 422],
    success: { status: 200, description: 'The conversation so far.', type: ConversationResponse },
  })
  async get(
    @CurrentCaller() caller: Caller,
    @Param('runId', pathId('uuid')) runId: string,
  ): Promise<ConversationResponse> {
    const run = foundOrThrow(await this.log.findRun(caller, runId));
    return readingOrThrow(await this.readConversation.execute(run));
  }
}
