import { Injectable } from '@nestjs/common';
import type { Queryable, Statement } from '#libs/persistence';
import type { RunUsage } from '../domain/run.js';

const START: Statement = {
  name: 'runs.start-session',
  text: `UPDATE runs SET session_id = $2, conversation_id = coalesce(conversation_id, $3) WHERE id = $1`,
};
const TAKE_PROMPT: Statement = {
  name: 'runs.take-prompt',
  text: `UPDATE runs SET prompt_taken = true WHERE id = $1 AND NOT prompt_taken`,
};

/** Sums up over turns; a figure that no turn has told stays absent. */
const ADD_USAGE: Statement = {
  name: 'runs.add-usage',
  text: `UPDATE runs SET usage = coalesce(usage, '{}') || (
    SELECT coalesce(jsonb_object_agg(u.key, coalesce((usage->>u.key)::numeric, 0) + u.value::numeric), '{}') FROM jsonb_each_text($2::jsonb) u
  ) WHERE id = $1`,
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

  /** What a turn has used, on top of what is known. */
  async addUsage(tx: Queryable, runId: string, usage: RunUsage): Promise<void> {
    await tx.query(ADD_USAGE, [runId, JSON.stringify(usage)]);
  }
}
