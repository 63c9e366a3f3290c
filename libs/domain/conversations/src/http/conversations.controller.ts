import { Controller, Get, Param, Res } from '@nestjs/common';
import type { Response } from 'express';
import { Authorize, type Caller, CurrentCaller } from '#platform/auth';
import { Operation, pathId, ProblemError } from '#platform/http';
import { RunConversations } from '#domain/runs';
import { ReadConversation } from '../application/read-conversation.js';
import { TranscriptFormatRegistry } from '../application/transcript-format-registry.js';
import { ConversationResponse } from './conversation.dto.js';
import { readingOrThrow, runsOrThrow } from './outcomes.js';
import { ConversationRedirectResponse, SessionRedirectResponse } from './redirect.dto.js';

const CONVERSATION_ID = pathId('uuid');
/** Agents make the ids of their sessions, and not all of them are UUIDs. */

const SESSION_ID = pathId(/^[^\u0000-\u001f\u007f]{1,512}$/);

@Controller('agent/conversations/:conversation_id')
export class ConversationsController {
  constructor(
    private readonly conversations: RunConversations,
    private readonly readConversation: ReadConversation,
    private readonly formats: TranscriptFormatRegistry,
  ) {}

  @Get()
  @Authorize('runs:read')
  @Operation({
    id: 'getConversation',
    summary: 'Get a conversation',
    description:
      'What all runs of the conversation said and did, oldest run first, as far as the caller may see them. A conversation has several runs when one was created with its `conversation_id`; the newest 200 are shown, and 503 says that even these are too much for one answer (32 MiB, 10 s): read the runs one by one.',
    tag: 'Conversations',
    errors: [400, 403, 404, 422],
    success: { status: 200, description: 'The conversation so far.', type: ConversationResponse },
  })
  async get(
    @CurrentCaller() caller: Caller,
    @Param('conversation_id', CONVERSATION_ID) conversationId: string,
  ): Promise<ConversationResponse> {
    const runs = runsOrThrow(await this.conversations.find(caller, conversationId));
    return readingOrThrow(await this.readConversation.executeAll(runs));
  }

  @Get('transcript')
  @Authorize('runs:read')
  @Operation({
    id: 'getConversationTranscript',
    summary: 'Download a conversation’s raw transcript',
    description:
      'The newest record that a third party’s agent has kept of the session. The built-in agent’s conversations have none: 400.',
    tag: 'Conversations',
    errors: [400, 403, 404],
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
    const runs = runsOrThrow(await this.conversations.find(caller, conversationId));
    const withTranscript = runs.findLast(({ transcriptFormat }) => transcriptFormat !== null);
    const format = withTranscript?.transcriptFormat ?? runs.at(-1)?.harness ?? '';
    if (!this.formats.hasRawDownload(format))
      throw new ProblemError(
        'invalid_request',
        `Conversations of harness ${format} have no raw transcript to download.`,
      );
    const url = withTranscript && (await this.conversations.linkToTranscript(withTranscript.id));
    if (!url) throw new ProblemError('resource_not_found', 'The conversation has no transcript.');
    response.redirect(302, url);
  }

  @Get('redirect')
  @Authorize('runs:read')
  @Operation({
    id: 'getConversationRedirect',
    summary: 'Find the session of a conversation',
    description:
      'Empty when there is none, when the conversation is unknown, and when it is not the caller’s: the three look alike. Needs a token, unlike the published API: see ADR 0027.',
    tag: 'Conversations',
    errors: [400, 403, 404],
    success: { status: 200, description: 'The newest session, if any.', type: ConversationRedirectResponse },
  })
  async redirect(
    @CurrentCaller() caller: Caller,
    @Param('conversation_id', CONVERSATION_ID) conversationId: string,
  ): Promise<ConversationRedirectResponse> {
    const sessionId = await this.conversations.sessionOf(caller, conversationId);
    return sessionId === null ? {} : { session_id: sessionId };
  }
}

@Controller('agent/sessions/:session_id')
export class SessionsController {
  constructor(private readonly conversations: RunConversations) {}

  @Get('redirect')
  @Authorize('runs:read')
  @Operation({
    id: 'getSessionRedirect',
    summary: 'Find the conversation of a session',
    description:
      'Empty when there is none, and when it is not the caller’s: the two look alike. Needs a token, unlike the published API: see ADR 0027.',
    tag: 'Conversations',
    errors: [400, 403, 404],
    success: { status: 200, description: 'The conversation, if any.', type: SessionRedirectResponse },
  })
  async redirect(
    @CurrentCaller() caller: Caller,
    @Param('session_id', SESSION_ID) sessionId: string,
  ): Promise<SessionRedirectResponse> {
    const conversationId = await this.conversations.conversationOf(caller, sessionId);
    return conversationId === null ? {} : { conversation_id: conversationId };
  }
}
