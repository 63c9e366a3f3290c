import { Injectable } from '@nestjs/common';
import { Database, type Statement } from '#libs/persistence';
import type { Run } from '../domain/run.js';
import { LIVE_EXECUTION_JOIN, RUN_COLUMNS, type RunRow, toRun, WHOLE_RUN_COLUMNS } from './run-rows.js';

const FIND: Statement = {
  name: 'runs.find',
  text: `SELECT ${WHOLE_RUN_COLUMNS}, r.prompt FROM runs r ${LIVE_EXECUTION_JOIN} WHERE r.id = $1`,
};

const FIND_BY_CONVERSATION: Statement = {
  name: 'runs.find-by-conversation',
  text: `SELECT ${RUN_COLUMNS}, r.prompt FROM runs r ${LIVE_EXECUTION_JOIN} WHERE r.conversation_id = $1 ORDER BY r.created_at DESC, r.id DESC LIMIT 100`,
};

const FIND_FOR_ASSIGNMENT: Statement = {
  name: 'runs.find-for-assignment',
  text: `SELECT ${RUN_COLUMNS}, r.prompt, r.prompt_taken, r.transcript IS NOT NULL AS has_transcript FROM runs r ${LIVE_EXECUTION_JOIN} WHERE r.id = $1`,
};

@Injectable()
export class RunQueries {
  constructor(private readonly database: Database) {}

  async find(runId: string): Promise<Run | null> {
    const [row] = await this.database.query<RunRow & Record<string, unknown>>(FIND, [runId]);
    return row ? toRun(row) : null;
  }

  /** Runs that share a conversation, newest first; at most 100. */
  async findByConversation(conversationId: string): Promise<Run[]> {
    return (await this.database.query<RunRow & Record<string, unknown>>(FIND_BY_CONVERSATION, [conversationId])).map(
      toRun,
    );
  }

  async findForAssignment(runId: string): Promise<{ run: Run; promptTaken: boolean; hasTranscript: boolean } | null> {
    const [row] = await this.database.query<RunRow & { prompt_taken: boolean; has_transcript: boolean }>(
      FIND_FOR_ASSIGNMENT,
      [runId],
    );
    return row ? { run: toRun(row), promptTaken: row.prompt_taken, hasTranscript: row.has_transcript } : null;
  }
}
