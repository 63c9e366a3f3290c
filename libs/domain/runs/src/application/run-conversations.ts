import { Injectable } from '@nestjs/common';
import { Transcripts } from '#execution/executions';
import type { Caller } from '#platform/auth';
import { Settings } from '#platform/config';
import { Database, type Statement, statement } from '#platform/persistence';
import type { Run } from '../domain/run.js';
import { READABLE } from '../persistence/runs.store.js';
import { readableBy } from './runs.service.js';

export interface ConversationRun extends Pick<Run, 'id' | 'conversationFormat'> {
  readonly conversationId: string;
  readonly harness: string;
  /** What the stored raw transcript was written by; null: there is none. */
  readonly transcriptFormat: string | null;
}

/** Of a conversation that was continued more often, the newest runs are shown. */
const MAX_CONVERSATION_RUNS = 200;

const FIND = statement('conversations.runs')`
  SELECT r.id, r.conversation_id AS "conversationId", r.conversation_format AS "conversationFormat",
    coalesce(r.config->'harness'->>'type', 'oz') AS harness, r.transcript->>'format' AS "transcriptFormat"
  FROM runs r WHERE r.conversation_id = $1 AND ${READABLE} ORDER BY r.created_at DESC, r.id DESC LIMIT ${MAX_CONVERSATION_RUNS}`;
const EXISTS = statement('conversations.exists')`
  SELECT EXISTS (SELECT 1 FROM runs WHERE conversation_id = $1) AS exists`;
const SESSION = statement('conversations.session')`
  SELECT r.session_id AS found FROM runs r WHERE r.conversation_id = $1 AND ${READABLE} AND r.session_id IS NOT NULL
  ORDER BY r.created_at DESC, r.id DESC LIMIT 1`;
const OF_SESSION = statement('conversations.of-session')`
  SELECT r.conversation_id AS found FROM runs r WHERE r.session_id = $1 AND ${READABLE} AND r.conversation_id IS NOT NULL
  ORDER BY r.created_at DESC, r.id DESC LIMIT 1`;

/** What other libraries ask about conversations: which runs share one, and where its transcript and session are. */
@Injectable()
export class RunConversations {
  constructor(
    private readonly database: Database,
    private readonly transcripts: Transcripts,
    private readonly settings: Settings,
  ) {}

  /** `runs`: the oldest first. */
  async find(caller: Caller, conversationId: string) {
    const { teamUids, userUid } = readableBy(caller);
    const rows = await this.database.query<ConversationRun>(FIND, [conversationId, teamUids, userUid]);
    const [newest] = rows;
    if (newest) return { kind: 'found' as const, newest, runs: rows.reverse() };
    const [row] = await this.database.query<{ exists: boolean }>(EXISTS, [conversationId]);
    return row?.exists === true ? { kind: 'forbidden' as const } : { kind: 'not_found' as const };
  }

  /** A time-limited link to a run's raw transcript; null when it has none. The caller's permission has been checked. */
  linkToTranscript(runId: string): Promise<string | null> {
    return this.transcripts.linkTo(runId, this.settings.signedUrlTtl);
  }

  /** The session of the conversation's newest run that has one; null also for what the caller may not see. */
  sessionOf(caller: Caller, conversationId: string): Promise<string | null> {
    return this.newest(SESSION, caller, conversationId);
  }

  /** The conversation of the newest run that had this session of its agent; null also for what the caller may not see. */
  conversationOf(caller: Caller, sessionId: string): Promise<string | null> {
    return this.newest(OF_SESSION, caller, sessionId);
  }

  private async newest(query: Statement, caller: Caller, id: string): Promise<string | null> {
    const { teamUids, userUid } = readableBy(caller);
    const [row] = await this.database.query<{ found: string }>(query, [id, teamUids, userUid]);
    return row?.found ?? null;
  }
}
