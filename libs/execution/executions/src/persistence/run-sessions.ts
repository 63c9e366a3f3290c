import { Injectable } from '@nestjs/common';
import type { Queryable, Statement } from '#platform/persistence';

const START: Statement = {
  name: 'runs.start-session',
  text: `UPDATE runs SET session_id = $2, conversation_id = coalesce(conversation_id, $3),
    session_in_debug = CASE WHEN $4 THEN session_in_debug ELSE $5 END WHERE id = $1`,
};
const TAKE_PROMPT: Statement = {
  name: 'runs.take-prompt',
  text: `UPDATE runs SET prompt_taken = true WHERE id = $1 AND NOT prompt_taken`,
};

export interface BegunSession {
  readonly sessionId: string;
  /** For a run that has no conversation yet. */
  readonly newConversationId: string;
  /** An earlier one that was loaded. */
  readonly isResumed: boolean;
  /** It begins in a debug window. */
  readonly isDebug: boolean;
}

/** The conversation's identity on the run's row. */
@Injectable()
export class RunSessions {
  /** The agent's session exists: the run has a conversation from now on. */
  async start(tx: Queryable, runId: string, session: BegunSession): Promise<void> {
    const { sessionId, newConversationId, isResumed, isDebug } = session;
    await tx.query(START, [runId, sessionId, newConversationId, isResumed, isDebug]);
  }

  /** The run's own prompt reached the agent; later executions continue instead of starting over. */
  async takePrompt(tx: Queryable, runId: string): Promise<void> {
    await tx.query(TAKE_PROMPT, [runId]);
  }
}
