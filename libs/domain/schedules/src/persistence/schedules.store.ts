import { Injectable } from '@nestjs/common';
import { Database, type Queryable, type Statement } from '#platform/persistence';
import type { AgentConfig, PrincipalRef, RunMode, RunOwner } from '#domain/runs';
import {
  LISTED_PROMPT_CHARACTERS,
  type OverlapPolicy,
  type Schedule,
  type ScheduleFields,
} from '../domain/schedule.js';

/** The kind of the timers of schedules. */
export const SCHEDULE_TIMER = 'schedule';

interface Row {
  uid: string;
  team_uid: string | null;
  owner_user_uid: string | null;
  name: string;
  cron: string;
  timezone: string;
  prompt: string;
  enabled: boolean;
  agent_config: AgentConfig | null;
  agent_identity_uid: string | null;
  mode: RunMode;
  metadata: Record<string, string> | null;
  overlap_policy: OverlapPolicy;
  jitter_seconds: number;
  paused_reason: string | null;
  creator_type: PrincipalRef['type'];
  creator_uid: string;
  editor_type: PrincipalRef['type'];
  editor_uid: string;
  created_at: Date;
  updated_at: Date;
  last_ran_at: Date | null;
  last_run_id: string | null;
  last_spawn_error: string | null;
  failures: number;
  next_due_at: Date | null;
}

const columns = (prompt: string): string =>
  `s.uid, s.team_uid, s.owner_user_uid, s.name, s.cron, s.timezone, ${prompt} AS prompt, s.enabled, s.agent_config,
  s.agent_identity_uid, s.mode, s.metadata, s.overlap_policy, s.jitter_seconds, s.paused_reason, s.creator_type, s.creator_uid,
  s.editor_type, s.editor_uid, s.created_at, s.updated_at, s.last_ran_at, s.last_run_id, s.last_spawn_error, s.failures,
  t.due_at AS next_due_at`;
const FROM = `FROM schedules s LEFT JOIN timers t ON t.kind = '${SCHEDULE_TIMER}' AND t.key = s.uid`;
const FIND: Statement = { name: 'schedules.find', text: `SELECT ${columns('s.prompt')} ${FROM} WHERE s.uid = $1` };
const FIND_ALL: Statement = {
  name: 'schedules.find-all',
  text: `SELECT ${columns('s.prompt')} ${FROM} WHERE s.uid = ANY($1::text[])`,
};
const LISTED = columns(`left(s.prompt, ${LISTED_PROMPT_CHARACTERS})`);
const LIST: Statement = {
  name: 'schedules.list',
  text: `SELECT * FROM (
    SELECT ${LISTED} ${FROM} WHERE s.team_uid = ANY($1::text[])
    UNION ALL SELECT ${LISTED} ${FROM} WHERE s.owner_user_uid = $2) visible ORDER BY lower(name), name, uid`,
};
const INSERT: Statement = {
  name: 'schedules.insert',
  text: `INSERT INTO schedules (uid, team_uid, owner_user_uid, creator_type, creator_uid, editor_type, editor_uid, name, cron,
    timezone, prompt, enabled, agent_config, agent_identity_uid, mode, metadata, overlap_policy, jitter_seconds)
  VALUES ($1, $2, $3, $4, $5, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
};
const UPDATE: Statement = {
  name: 'schedules.update',
  text: `UPDATE schedules SET editor_type = $2, editor_uid = $3, name = $4, cron = $5, timezone = $6, prompt = $7, enabled = $8,
    agent_config = $9, agent_identity_uid = $10, mode = $11, metadata = $12, overlap_policy = $13, jitter_seconds = $14,
    paused_reason = NULL, failures = CASE WHEN $8 THEN 0 ELSE failures END, updated_at = headrace.now()
  WHERE uid = $1`,
};
const ENABLE: Statement = {
  name: 'schedules.enable',
  text: `UPDATE schedules SET enabled = true, paused_reason = NULL, failures = 0, updated_at = headrace.now()
  WHERE uid = $1 AND NOT enabled`,
};
const DISABLE: Statement = {
  name: 'schedules.disable',
  text: `UPDATE schedules SET enabled = false, paused_reason = $2, updated_at = headrace.now()
  WHERE uid = $1 AND (enabled OR paused_reason IS DISTINCT FROM $2)`,
};
const DELETE: Statement = { name: 'schedules.delete', text: 'DELETE FROM schedules WHERE uid = $1 RETURNING 1' };
/** Serializes the changes of one schedule. Not by its row: a firing locks it after the timer's row, a change before it. */
const LOCK: Statement = {
  name: 'schedules.lock',
  text: `SELECT pg_advisory_xact_lock(hashtextextended('schedule/' || $1, 0))`,
};
const NOTE_ERRORS: Statement = {
  name: 'schedules.note-spawn-errors',
  text: `UPDATE schedules s SET last_spawn_error = e.reason FROM unnest($1::text[], $2::text[]) AS e (uid, reason) WHERE s.uid = e.uid`,
};
const NOTE_SUCCESS: Statement = {
  name: 'schedules.note-success',
  text: `UPDATE schedules s SET last_ran_at = headrace.now() FROM runs r WHERE r.id = $1 AND s.uid = r.schedule->>'schedule_id'`,
};
const RESERVE: Statement = {
  name: 'schedules.reserve',
  text: `INSERT INTO schedule_counts AS c (owner_key, used) VALUES ($1, 1)
  ON CONFLICT (owner_key) DO UPDATE SET used = c.used + 1 WHERE c.used < $2 RETURNING 1`,
};
const RELEASE: Statement = {
  name: 'schedules.release',
  text: 'UPDATE schedule_counts SET used = used - 1 WHERE owner_key = $1',
};

@Injectable()
export class SchedulesStore {
  constructor(private readonly database: Database) {}

  async find(uid: string, queryable: Queryable = this.database): Promise<Schedule | null> {
    const [row] = await queryable.query<Row>(FIND, [uid]);
    return row ? toSchedule(row) : null;
  }

  async findAll(queryable: Queryable, uids: readonly string[]): Promise<Schedule[]> {
    return (await queryable.query<Row>(FIND_ALL, [uids])).map(toSchedule);
  }

  /** The schedules of the teams and the user's own, alphabetically by name; prompts cut. */
  async listFor(scope: { readonly teamUids: readonly string[]; readonly userUid: string | null }): Promise<Schedule[]> {
    return (await this.database.query<Row>(LIST, [scope.teamUids, scope.userUid])).map(toSchedule);
  }

  async insert(
    tx: Queryable,
    uid: string,
    owner: RunOwner,
    author: PrincipalRef,
    fields: ScheduleFields,
  ): Promise<void> {
    await tx.query(INSERT, [uid, owner.teamUid, owner.userUid, author.type, author.uid, ...valuesOf(fields)]);
  }

  async update(tx: Queryable, uid: string, author: PrincipalRef, fields: ScheduleFields): Promise<void> {
    await tx.query(UPDATE, [uid, author.type, author.uid, ...valuesOf(fields)]);
  }

  /** The enabled personal schedules of a user, in one order for every transaction that locks several. */
  async enabledOf(tx: Queryable, userUid: string): Promise<string[]> {
    const rows = await tx.query<{ uid: string }>(
      'SELECT uid FROM schedules WHERE owner_user_uid = $1 AND enabled ORDER BY uid',
      [userUid],
    );
    return rows.map(({ uid }) => uid);
  }

  /** Locks it for this transaction; null when there is none. */
  async lock(tx: Queryable, uid: string): Promise<Schedule | null> {
    await tx.query(LOCK, [uid]);
    return this.find(uid, tx);
  }

  async enable(tx: Queryable, uid: string): Promise<void> {
    await tx.query(ENABLE, [uid]);
  }

  /** `reason`: why the service pauses it automatically; null: a caller does. */
  async disable(tx: Queryable, uid: string, reason: string | null): Promise<void> {
    await tx.query(DISABLE, [uid, reason]);
  }

  /** False when there is none. */
  async delete(tx: Queryable, uid: string): Promise<boolean> {
    return (await tx.query(DELETE, [uid])).length > 0;
  }

  /** Why runs of these schedules have not been started yet; no round trip for an empty list. */
  async noteSpawnErrors(
    tx: Queryable,
    errors: readonly { readonly uid: string; readonly reason: string }[],
  ): Promise<void> {
    if (errors.length > 0)
      await tx.query(NOTE_ERRORS, [errors.map(({ uid }) => uid), errors.map(({ reason }) => reason)]);
  }

  /** The run has succeeded; updates the schedule that started it, if any. */
  async noteSuccess(tx: Queryable, runId: string): Promise<void> {
    await tx.query(NOTE_SUCCESS, [runId]);
  }

  /** False when the owner has `limit` schedules. Locked before any schedule. */
  async reserve(tx: Queryable, ownerKey: string, limit: number): Promise<boolean> {
    return (await tx.query(RESERVE, [ownerKey, limit])).length > 0;
  }

  async release(tx: Queryable, ownerKey: string): Promise<void> {
    await tx.query(RELEASE, [ownerKey]);
  }
}

const json = (value: object | null): string | null => value && JSON.stringify(value);

const valuesOf = (fields: ScheduleFields): unknown[] => [
  fields.name,
  fields.cronSchedule,
  fields.timezone,
  fields.prompt,
  fields.enabled,
  json(fields.agentConfig),
  fields.agentIdentityUid,
  fields.mode,
  json(fields.metadata),
  fields.overlapPolicy,
  fields.jitterSeconds,
];

function toSchedule(row: Row): Schedule {
  return {
    uid: row.uid,
    owner:
      row.team_uid !== null
        ? { teamUid: row.team_uid, userUid: null }
        : { teamUid: null, userUid: row.owner_user_uid ?? '' },
    name: row.name,
    cronSchedule: row.cron,
    timezone: row.timezone,
    prompt: row.prompt,
    enabled: row.enabled,
    agentConfig: row.agent_config,
    agentIdentityUid: row.agent_identity_uid,
    mode: row.mode,
    metadata: row.metadata,
    overlapPolicy: row.overlap_policy,
    jitterSeconds: row.jitter_seconds,
    pausedReason: row.paused_reason,
    createdBy: { type: row.creator_type, uid: row.creator_uid },
    updatedBy: { type: row.editor_type, uid: row.editor_uid },
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    lastRanAt: row.last_ran_at,
    lastRunId: row.last_run_id,
    lastSpawnError: row.last_spawn_error,
    failures: row.failures,
    nextDueAt: row.next_due_at,
  };
}
