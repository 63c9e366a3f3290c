import { Injectable } from '@nestjs/common';
import type { Queryable, Statement } from '#libs/persistence';

const START: Statement = {
  name: 'runs.start-session',
  text: `UPDATE runs SET session_id = $2, conversation_id = coalesce(conversation_id, $3) WHERE id = $1`,
};
const TAKE_PROMPT: Statement = {
  name: 'runs.take-prompt',
  text: `UPDATE runs SET prompt_taken = true WHERE id = $1 AND NOT prompt_taken`,
};

/** The conversation's identity on the run's row. */
@Injectable()
export class RunSessions {
  /** The agent's session exists: the run has a conversation from now on. */
  async start(tx: Queryable, runId: string, sessionId: string, newConversationId: string): Promise<void> {
    await tx.query(START, [runId, sessionId, newConversationId]);
  }

  /** The run's own prompt reached the agent; later executions continue instead of starting over. */
  async takePrompt(tx: Queryable, runId: string): Promise<void> {
    await tx.query(TAKE_PROMPT, [runId]);
  }
}
