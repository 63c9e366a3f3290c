import { Injectable } from '@nestjs/common';
import { Database, type Statement } from '#platform/persistence';
import { READABLE, type ReadableScope } from './run-queries.js';

/** What a conversation needs to know of one of its runs. */
export interface ConversationRun {
  readonly id: string;
  readonly conversationId: string;
  /** Which normalizer reads it; null: the one of the runner protocol’s events. */
  readonly conversationFormat: string | null;
  /** Id of the harness. */
  readonly harness: string;
  /** What the stored raw transcript was written by; null: there is none. */
  readonly transcriptFormat: string | null;
}

/** Of a conversation that was continued more often, the newest runs are shown. */
export const MAX_CONVERSATION_RUNS = 200;

const FIND: Statement = {
  name: 'conversations.runs',
  text: `SELECT r.id, r.conversation_id, r.conversation_format, coalesce(r.config->'harness'->>'type', 'oz') AS harness,
    r.transcript->>'format' AS transcript_format
  FROM runs r WHERE r.conversation_id = $1 AND ${READABLE} ORDER BY r.created_at DESC, r.id DESC LIMIT ${MAX_CONVERSATION_RUNS}`,
};
const EXISTS: Statement = {
  name: 'conversations.exists',
  text: 'SELECT EXISTS (SELECT 1 FROM runs WHERE conversation_id = $1) AS exists',
};
const SESSION: Statement = {
  name: 'conversations.session',
  text: `SELECT r.session_id FROM runs r WHERE r.conversation_id = $1 AND ${READABLE} AND r.session_id IS NOT NULL
  ORDER BY r.created_at DESC, r.id DESC LIMIT 1`,
};
const OF_SESSION: Statement = {
  name: 'conversations.of-session',
  text: `SELECT r.conversation_id FROM runs r WHERE r.session_id = $1 AND ${READABLE} AND r.conversation_id IS NOT NULL
  ORDER BY r.created_at DESC, r.id DESC LIMIT 1`,
};

interface Row extends Record<string, unknown> {
  readonly id: string;
  readonly conversation_id: string;
  readonly conversation_format: string | null;
  readonly harness: string;
  readonly transcript_format: string | null;
}

/** The runs of a conversation and of an agent's session, through what the caller may see. Each question is one round trip. */
@Injectable()
export class ConversationRunsStore {
  constructor(private readonly database: Database) {}

  /** Oldest first. */
  async find(conversationId: string, { teamUids, userUid }: ReadableScope): Promise<ConversationRun[]> {
    const rows = await this.database.query<Row>(FIND, [conversationId, teamUids, userUid]);
    return rows.reverse().map((row) => ({
      id: row.id,
      conversationId: row.conversation_id,
      conversationFormat: row.conversation_format,
      harness: row.harness,
      transcriptFormat: row.transcript_format,
    }));
  }

  /** Whether anybody has it. */
  async exists(conversationId: string): Promise<boolean> {
    const [row] = await this.database.query<{ exists: boolean }>(EXISTS, [conversationId]);
    return row?.exists === true;
  }

  /** The session of its newest run that has one. */
  async sessionOf(conversationId: string, { teamUids, userUid }: ReadableScope): Promise<string | null> {
    const [row] = await this.database.query<{ session_id: string }>(SESSION, [conversationId, teamUids, userUid]);
    return row?.session_id ?? null;
  }

  /** The conversation of the newest run that had this session of its agent. */
  async ofSession(sessionId: string, { teamUids, userUid }: ReadableScope): Promise<string | null> {
    const [row] = await this.database.query<{ conversation_id: string }>(OF_SESSION, [sessionId, teamUids, userUid]);
    return row?.conversation_id ?? null;
  }
}
