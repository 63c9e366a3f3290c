import { Controller, Get, Param, Post, Res } from '@nestjs/common';
import type { Response } from 'express';
import { ApiExcludeController, ApiExtraModels, ApiTags } from '@nestjs/swagger';
import { Operation, OutsideApi, pathId, ProblemError, unwrap } from '#platform/http';
import { CONVERSATION, foundOrThrow, interruptRefusal, RunConversations, RunsService } from '#domain/runs';
import { Authorize, type Caller, CurrentCaller, Public } from '#platform/auth';
import { type ConversationResult, ConversationReader } from '../application/conversation-reader.js';
import { ConversationResponses } from '../application/conversation-responses.js';
import { TranscriptFormatRegistry } from '../application/transcript-formats.js';
import {
  ConversationResponse,
  ConversationRedirectResponse,
  InterruptConversationResponse,
  SessionRedirectResponse,
  BLOCK_CLASSES,
} from './conversation.dto.js';

/** Projections stored while reading make the next attempt faster. */
const RETRY_SECONDS = 30;

function conversationOrThrow(reading: ConversationResult): ConversationResponse {
  switch (reading.kind) {
    case 'found':
      return reading.conversation;
    case 'no_conversation':
      throw new ProblemError('resource_not_found', 'The run has no conversation: its agent has not started yet.');
    case 'pruned':
      throw new ProblemError('resource_not_found', 'The conversation is no longer kept: retention has removed it.');
    case 'too_large':
      throw new ProblemError(
        'resource_unavailable',
        'The conversation is too long for one answer. Read its runs one by one: `GET /agent/runs/{runId}/conversation`.',
        { retryAfterSeconds: RETRY_SECONDS },
      );
    case 'unsupported_format':
      throw new ProblemError(
        'operation_not_supported',
        `The conversation format ${reading.format} cannot be normalised.`,
      );
  }
}

const CONVERSATION_ID = pathId('uuid');
/** Session ids are assigned by agents and are not always UUIDs. */
const SESSION_ID = pathId(/^[^\u0000-\u001f\u007f]{1,512}$/);

@ApiExtraModels(...BLOCK_CLASSES)
@ApiTags('Conversations')
@Controller('agent')
export class ConversationsController {
  constructor(
    private readonly conversations: RunConversations,
    private readonly runs: RunsService,
    private readonly reader: ConversationReader,
    private readonly responses: ConversationResponses,
    private readonly formats: TranscriptFormatRegistry,
  ) {}

  @Get('runs/:runId/conversation')
  @Authorize('runs:read', 'run')
  @Operation({
    id: 'getRunConversation',
    summary: 'Get the conversation of a run',
    description:
      'Normalised to the same steps, messages and blocks for every agent. While the run continues, steps are appended and results of running actions change in place.',
    errors: [400, 403, 404, 422],
    success: { status: 200, description: 'The conversation so far.', type: ConversationResponse },
  })
  async getRunConversation(
    @CurrentCaller() caller: Caller,
    @Param('runId', pathId('uuid')) runId: string,
    @Res({ passthrough: true }) response: Response,
  ): Promise<ConversationResponse> {
    const run = foundOrThrow(await this.runs.find(caller, runId));
    return this.responses.run(caller.principal.uid, response, async () =>
      conversationOrThrow(await this.reader.getOfRun(run)),
    );
  }

  @Get('conversations/:conversation_id')
  @Authorize('runs:read', 'conversation')
  @Operation({
    id: 'getConversation',
    summary: 'Get a conversation',
    description:
      'The steps of all runs of the conversation that the caller may read, oldest run first. A conversation has several runs when a run was created with its `conversation_id`; the newest 200 are returned. 503 means that the response would exceed 32 MiB or 10 s: read the runs one by one.',
    errors: [400, 403, 404, 422],
    success: { status: 200, description: 'The conversation so far.', type: ConversationResponse },
  })
  async get(
    @CurrentCaller() caller: Caller,
    @Param('conversation_id', CONVERSATION_ID) conversationId: string,
    @Res({ passthrough: true }) response: Response,
  ): Promise<ConversationResponse> {
    const { runs } = unwrap(await this.conversations.find(caller, conversationId), CONVERSATION);
    return this.responses.run(caller.principal.uid, response, async () =>
      conversationOrThrow(await this.reader.getOfRuns(runs)),
    );
  }

  @Post('conversations/:conversation_id/interrupt')
  @Authorize('runs:write', 'conversation')
  @Operation({
    id: 'interruptConversation',
    summary: 'Interrupt a conversation',
    errors: [400, 403, 404, 409],
    description:
      'Interrupts the newest run of the conversation among those that the caller may read, like `POST /agent/runs/{runId}/interrupt`.',
    success: { status: 202, description: 'The run whose turn will end.', type: InterruptConversationResponse },
  })
  async interrupt(
    @CurrentCaller() caller: Caller,
    @Param('conversation_id', CONVERSATION_ID) conversationId: string,
  ): Promise<InterruptConversationResponse> {
    const { newest } = unwrap(await this.conversations.find(caller, conversationId), CONVERSATION);
    const result = await this.runs.interrupt(caller, newest.id);
    if (result.kind !== 'requested') throw interruptRefusal(result);
    return { run_id: result.runId };
  }

  @Get('conversations/:conversation_id/transcript')
  @Authorize('runs:read', 'conversation')
  @Operation({
    id: 'getConversationTranscript',
    summary: 'Download the transcript of a conversation',
    description:
      'The newest transcript that a third-party agent wrote of the session. Conversations of the built-in agent have none: 400.',
    success: {
      status: 302,
      description: 'The transcript, as the agent wrote it, is at `Location` for a limited time.',
      headers: { Location: 'Time-limited download URL.' },
    },
  })
  async transcript(
    @CurrentCaller() caller: Caller,
    @Param('conversation_id', CONVERSATION_ID) conversationId: string,
    @Res() response: Response,
  ): Promise<void> {
    const { newest, runs } = unwrap(await this.conversations.find(caller, conversationId), CONVERSATION);
    const withTranscript = runs.findLast(({ transcriptFormat }) => transcriptFormat !== null);
    const format = withTranscript?.transcriptFormat ?? newest.harness;
    if (!this.formats.hasRawDownload(format))
      throw new ProblemError(
        'invalid_request',
        `Conversations of harness ${format} have no raw transcript to download.`,
      );
    const url = withTranscript && (await this.conversations.linkToTranscript(withTranscript.id));
    if (!url) throw new ProblemError('resource_not_found', 'The conversation has no transcript.');
    response.redirect(302, url);
  }

  @Get('conversations/:conversation_id/redirect')
  @Authorize('runs:read', 'conversation')
  @Operation({
    id: 'getConversationRedirect',
    summary: 'Get the session of a conversation',
    description:
      'The result is empty when the conversation has no session, does not exist, or is not accessible to the caller; the response does not distinguish them. Requires a token, unlike the published API: see ADR 0027.',
    success: { status: 200, description: 'The newest session, if any.', type: ConversationRedirectResponse },
  })
  async redirect(
    @CurrentCaller() caller: Caller,
    @Param('conversation_id', CONVERSATION_ID) conversationId: string,
  ): Promise<ConversationRedirectResponse> {
    const sessionId = await this.conversations.sessionOf(caller, conversationId);
    return sessionId === null ? {} : { session_id: sessionId };
  }

  @Get('sessions/:session_id/redirect')
  @Authorize('runs:read', 'session')
  @Operation({
    id: 'getSessionRedirect',
    summary: 'Get the conversation of a session',
    description:
      'The result is empty when the session has no conversation or is not accessible to the caller; the response does not distinguish them. Requires a token, unlike the published API: see ADR 0027.',
    success: { status: 200, description: 'The conversation, if any.', type: SessionRedirectResponse },
  })
  async getSessionRedirect(
    @CurrentCaller() caller: Caller,
    @Param('session_id', SESSION_ID) sessionId: string,
  ): Promise<SessionRedirectResponse> {
    const conversationId = await this.conversations.conversationOf(caller, sessionId);
    return conversationId === null ? {} : { conversation_id: conversationId };
  }
}

/** The page that `session_link` points to is in the console. Nothing is looked up, so that it does not reveal whether a run exists. */
@Public()
@OutsideApi()
@ApiExcludeController()
@Controller('runs')
export class RunPageController {
  @Get(':runId')
  show(@Param('runId', pathId('uuid')) runId: string, @Res() response: Response): void {
    // Relative: a proxy may serve it below a prefix.
    response.redirect(302, `../console/runs/${runId}`);
  }
}
