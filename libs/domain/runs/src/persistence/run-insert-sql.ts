import { type AgentConfig, HOSTED_POOL, type PrincipalRef, type RunOwner, slotKey } from '#execution/executions';
import { keepDiscarded } from '#platform/storage';
import type { NewAttachment } from '../domain/attachment.js';
import type { RunExecutionLocation, RunMode, RunSchedule, RunSkill, RunSourceType } from '../domain/run.js';
import { INSERT_ATTACHMENTS, toAttachmentsJson } from './attachments.store.js';

/** An earlier run's conversation that the new run continues; the transcript is a copy. */
export interface ContinuedConversation {
  readonly conversationId: string;
  readonly sessionId: string | null;
  readonly transcript: object | null;
}

/** A run that is about to be queued. */
export interface NewRun {
  readonly id: string;
  readonly owner: RunOwner;
  readonly pool: string;
  readonly title: string;
  readonly prompt: string;
  readonly source: RunSourceType;
  readonly executionLocation: RunExecutionLocation;
  readonly mode: RunMode;
  readonly interactive: boolean;
  readonly creator: PrincipalRef;
  readonly executor: PrincipalRef;
  readonly config: AgentConfig;
  readonly skill: RunSkill | null;
  readonly metadata: Readonly<Record<string, string>> | null;
  readonly parentRunId: string | null;
  /** Oldest first; the parent is the last one. */
  readonly ancestorRunIds: readonly string[];
  readonly continues: ContinuedConversation | null;
  readonly schedule: RunSchedule | null;
  readonly triggerUrl: string | null;
  /** Their bytes are in the object store already. */
  readonly attachments: readonly NewAttachment[];
}

/** The columns of `run_facets` for `row`, an alias with the columns of `runs`. Their purpose is explained in the README of this library. */
export const facetsOf = (row: string): string => `${row}.id, ${row}.slot_key,
  headrace.run_tokens(${row}.slot_key, ${row}.creator_uid, ${row}.executor_uid, ${row}.source, ${row}.execution_location, ${row}.config, ${row}.schedule, ${row}.metadata, ${row}.ancestor_run_ids)
    || coalesce((SELECT array_agg(headrace.run_token(${row}.slot_key, 'skill_spec', s)) FROM jsonb_array_elements_text(${row}.agent_skill->'specs') AS s), '{}'),
  headrace.run_search_text(${row}.title, ${row}.prompt, ${row}.config->>'skill_spec')`;

/** A new run as statements take it: one JSON object a run, its keys the columns of the table. */
const INPUT_COLUMNS = {
  id: 'uuid',
  team_uid: 'text',
  owner_user_uid: 'text',
  slot_key: 'text',
  pool: 'text',
  title: 'text',
  prompt: 'text',
  source: 'text',
  execution_location: 'text',
  mode: 'text',
  interactive: 'boolean',
  creator_type: 'text',
  creator_uid: 'text',
  executor_type: 'text',
  executor_uid: 'text',
  config: 'jsonb',
  agent_skill: 'jsonb',
  metadata: 'jsonb',
  parent_run_id: 'uuid',
  ancestor_run_ids: 'uuid[]',
  conversation_id: 'uuid',
  session_id: 'text',
  transcript: 'jsonb',
  schedule: 'jsonb',
  trigger_url: 'text',
} as const;

const COLUMNS = Object.keys(INPUT_COLUMNS).join(', ');

/**
 * The CTEs that write runs with their first events: `state = 'QUEUED'` makes each row its own queue entry. Asks for a
 * CTE `n` of new runs ({@link newRunsFrom}) and a row `t (at)`.
 */
export const INSERT_RUNS = `r AS (
  INSERT INTO runs (${COLUMNS}, state, queued_at, created_at, updated_at)
  SELECT ${COLUMNS}, 'QUEUED', t.at, t.at, t.at FROM n, t
), e AS (
  INSERT INTO run_events (run_id, seq, kind, at, data)
  SELECT id, 1, 'run_created', t.at, jsonb_build_object('source', source, 'creator', jsonb_build_object('type', creator_type, 'uid', creator_uid)) FROM n, t
), f AS (
  INSERT INTO run_facets (run_id, slot_key, tokens, search) SELECT ${facetsOf('n')} FROM n
), ${INSERT_ATTACHMENTS}, o AS (
  ${keepDiscarded(`SELECT unnest(ARRAY['attachments/' || n.id || '/', 'transcripts/' || n.id || '/']) FROM n WHERE n.transcript IS NOT NULL OR json_array_length(n.attachments) > 0`)}
)`;

/** Where the objects lie that a new run brings along: its files, and its copy of the transcript that it continues from. */
export const objectFolders = (runId: string): string[] => [`attachments/${runId}`, `transcripts/${runId}`];

/** Whether the owner or the pool of a new run had no slot left; only hosted runs need one. A team's own limit wins. */
export const AT_CAPACITY = `(SELECT bool_or(s.used >= CASE WHEN s.key = n.slot_key
    THEN coalesce((SELECT t.max_concurrent_runs FROM teams t WHERE t.uid = n.team_uid), s.capacity) ELSE s.capacity END) FROM slot_pools s WHERE n.pool = '${HOSTED_POOL}' AND s.key IN ('pool:' || n.pool, n.slot_key)) AS at_capacity`;

/** A FROM item of new runs out of a JSON array parameter; `ord` counts them. */
export function newRunsFrom(parameter: string): string {
  const columns = Object.entries(INPUT_COLUMNS).map(([name, type]) => `${name} ${type}`);
  return `json_to_recordset(${parameter}::json) AS n (ord int, attachments json, ${columns.join(', ')})`;
}

/** A run as an element of that array. */
export function toNewRunJson(
  run: NewRun,
  ord: number,
): Record<'ord' | 'attachments' | keyof typeof INPUT_COLUMNS, unknown> {
  return {
    ord,
    attachments: toAttachmentsJson(run.attachments),
    id: run.id,
    team_uid: run.owner.teamUid,
    owner_user_uid: run.owner.userUid,
    slot_key: slotKey(run.owner),
    pool: run.pool,
    title: run.title,
    prompt: run.prompt,
    source: run.source,
    execution_location: run.executionLocation,
    mode: run.mode,
    interactive: run.interactive,
    creator_type: run.creator.type,
    creator_uid: run.creator.uid,
    executor_type: run.executor.type,
    executor_uid: run.executor.uid,
    config: run.config,
    agent_skill: run.skill,
    metadata: run.metadata,
    parent_run_id: run.parentRunId,
    ancestor_run_ids: run.ancestorRunIds,
    conversation_id: run.continues?.conversationId ?? null,
    session_id: run.continues?.sessionId ?? null,
    transcript: run.continues?.transcript ?? null,
    schedule: run.schedule,
    trigger_url: run.triggerUrl,
  };
}
