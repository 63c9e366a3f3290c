import { Injectable } from '@nestjs/common';
import type { Caller } from '#platform/auth';
import { Settings } from '#platform/config';
import { type ConversationRun, ConversationRunsStore } from '../persistence/conversation-runs.store.js';
import { Transcripts } from '#execution/executions';
import { readableBy } from './run-access.js';

export type ConversationLookup =
  /** Oldest run first, at least one. */
  | { readonly kind: 'found'; readonly runs: readonly ConversationRun[] }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'not_yours' };

/** What other rooms may ask about conversations: which runs share one, and where its transcript and session are. */
@Injectable()
export class RunConversations {
  constructor(
    private readonly store: ConversationRunsStore,
    private readonly transcripts: Transcripts,
    private readonly settings: Settings,
  ) {}

  /** The runs of the conversation that the caller may see. */
  async find(caller: Caller, conversationId: string): Promise<ConversationLookup> {
    const runs = await this.store.find(conversationId, readableBy(caller));
    if (runs.length > 0) return { kind: 'found', runs };
    return { kind: (await this.store.exists(conversationId)) ? 'not_yours' : 'unknown' };
  }

  /** A time-limited link to a run's raw transcript; null when it has none. The caller's right has been checked. */
  linkToTranscript(runId: string): Promise<string | null> {
    return this.transcripts.linkTo(runId, this.settings.signedUrlTtl);
  }

  /** null for whatever the caller may not see, too. */
  sessionOf(caller: Caller, conversationId: string): Promise<string | null> {
    return this.store.sessionOf(conversationId, readableBy(caller));
  }

  /** The conversation that an agent's session belongs to; null for whatever the caller may not see, too. */
  conversationOf(caller: Caller, sessionId: string): Promise<string | null> {
    return this.store.ofSession(sessionId, readableBy(caller));
  }
}
