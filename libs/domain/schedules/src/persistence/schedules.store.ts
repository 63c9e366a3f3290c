import { Injectable } from '@nestjs/common';
import { newUid } from '#platform/kernel';
import { Database, listedUids, type Queryable, statement } from '#platform/persistence';
import { agentConfigColumn, type PrincipalRef, type RunOwner } from '#domain/runs';
import {
  LISTED_PROMPT_CHARACTERS,
  type ListedSchedule,
  type Schedule,
  type ScheduleFields,
  secretsOf,
} from '../domain/schedule.js';

export const SCHEDULE_TIMER = 'schedule';

/** Credentials of the MCP servers of schedules. */
export const SCHEDULES_ENCRYPTED_COLUMNS = [agentConfigColumn('schedules', secretsOf)];

const columns = (prompt: string): string =>
  `s.uid, json_build_object('teamUid', s.team_uid, 'userUid', s.owner_user_uid) AS owner, s.name, s.cron AS "cronSchedule", s.timezone,
  ${prompt} AS prompt, s.enabled, s.agent_config AS "agentConfig", s.agent_identity_uid AS "agentIdentityUid", s.mode, s.metadata,
  s.overlap_policy AS "overlapPolicy", s.jitter_seconds AS "jitterSeconds", s.paused_reason AS "pausedReason",
  json_build_object('type', s.creator_type, 'uid', s.creator_uid) AS "createdBy",
  json_build_object('type', s.editor_type, 'uid', s.editor_uid) AS "updatedBy",
  s.created_at AS "createdAt", s.updated_at AS "updatedAt", s.last_ran_at AS "lastRanAt", s.last_run_id AS "lastRunId",
  s.last_spawn_error AS "lastSpawnError", s.failures, t.due_at AS "nextDueAt"`;
const FROM = `FROM schedules s LEFT JOIN timers t ON t.kind = '${SCHEDULE_TIMER}' AND t.key = s.uid`;
const FIND = statement('schedules.find')`
  SELECT ${columns('s.prompt')} ${FROM} WHERE s.uid = ANY($1::text[])`;
const LISTED = listedUids({
  rows: `SELECT uid, team_uid AS owner, listed_bytes AS bytes FROM schedules WHERE team_uid = ANY($1::text[])
    UNION ALL SELECT uid, owner_user_uid, listed_bytes FROM schedules WHERE owner_user_uid = $2`,
});
const LIST = statement('schedules.list')`
  SELECT ${columns(`left(s.prompt, ${LISTED_PROMPT_CHARACTERS})`)}, s.listed_bytes AS "listedBytes" ${FROM}
   WHERE s.uid IN (${LISTED}) ORDER BY lower(s.name), s.name, s.uid`;
const INSERT = statement('schedules.insert')`
  INSERT INTO schedules (uid, team_uid, owner_user_uid, creator_type, creator_uid, editor_type, editor_uid, name, cron,
    timezone, prompt, enabled, agent_config, agent_identity_uid, mode, metadata, overlap_policy, jitter_seconds)
  VALUES ($1, $2, $3, $4, $5, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`;
const UPDATE = statement('schedules.update')`
  UPDATE schedules SET editor_type = $2, editor_uid = $3, name = $4, cron = $5, timezone = $6, prompt = $7, enabled = $8,
    agent_config = $9, agent_identity_uid = $10, mode = $11, metadata = $12, overlap_policy = $13, jitter_seconds = $14,
    paused_reason = NULL, failures = CASE WHEN $8 THEN 0 ELSE failures END, updated_at = headrace.now()
  WHERE uid = $1`;
/** Serializes the changes of one schedule. Not by its row: a firing locks it after the timer's row, a change before it. */
const LOCK = statement('schedules.lock')`
  SELECT pg_advisory_xact_lock(hashtextextended('schedule/' || $1, 0))`;
const NOTE_ERRORS = statement('schedules.note-spawn-errors')`
  UPDATE schedules s SET last_spawn_error = e.reason FROM unnest($1::text[], $2::text[]) AS e (uid, reason) WHERE s.uid = e.uid`;
const NOTE_SUCCESS = statement('schedules.note-success')`
  UPDATE schedules s SET last_ran_at = headrace.now() FROM runs r WHERE r.id = $1 AND s.uid = r.schedule->>'schedule_id'`;

@Injectable()
export class SchedulesStore {
  constructor(private readonly database: Database) {}

  async find(uid: string, queryable: Queryable = this.database): Promise<Schedule | null> {
    const [schedule] = await this.findAll(queryable, [uid]);
    return schedule ?? null;
  }

  findAll(queryable: Queryable, uids: readonly string[]): Promise<Schedule[]> {
    return queryable.query<Schedule>(FIND, [uids]);
  }

  listFor(teamUids: readonly string[], userUid: string | null): Promise<ListedSchedule[]> {
    return this.database.query<ListedSchedule>(LIST, [teamUids, userUid]);
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

  /** Of a team. As if a user who does not exist any more had saved them last. */
  async removeEditor(tx: Queryable, userUid: string): Promise<void> {
    await tx.query(
      `UPDATE schedules SET editor_uid = $2 WHERE editor_type = 'user' AND editor_uid = $1 AND team_uid IS NOT NULL`,
      [userUid, newUid()],
    );
  }

  async lock(tx: Queryable, uid: string): Promise<Schedule | null> {
    await tx.query(LOCK, [uid]);
    return this.find(uid, tx);
  }

  async enable(tx: Queryable, uid: string): Promise<void> {
    await tx.query(
      `UPDATE schedules SET enabled = true, paused_reason = NULL, failures = 0, updated_at = headrace.now()
  WHERE uid = $1 AND NOT enabled`,
      [uid],
    );
  }

  /** `reason`: why the service pauses it automatically; null: a caller does. */
  async disable(tx: Queryable, uid: string, reason: string | null): Promise<void> {
    await tx.query(
      `UPDATE schedules SET enabled = false, paused_reason = $2, updated_at = headrace.now()
  WHERE uid = $1 AND (enabled OR paused_reason IS DISTINCT FROM $2)`,
      [uid, reason],
    );
  }

  async delete(tx: Queryable, uid: string): Promise<boolean> {
    return (await tx.query('DELETE FROM schedules WHERE uid = $1 RETURNING 1', [uid])).length > 0;
  }

  /** Why runs of these schedules have not been started yet; no round trip for an empty list. */
  async noteSpawnErrors(
    tx: Queryable,
    errors: readonly { readonly uid: string; readonly reason: string }[],
  ): Promise<void> {
    if (errors.length > 0)
      await tx.query(NOTE_ERRORS, [errors.map(({ uid }) => uid), errors.map(({ reason }) => reason)]);
  }

  async noteSuccess(tx: Queryable, runId: string): Promise<void> {
    await tx.query(NOTE_SUCCESS, [runId]);
  }

  /** False when the owner has `limit` schedules. Locked before any schedule. */
  async reserve(tx: Queryable, ownerKey: string, limit: number): Promise<boolean> {
    const rows = await tx.query(
      `INSERT INTO schedule_counts AS c (owner_key, used) VALUES ($1, 1)
  ON CONFLICT (owner_key) DO UPDATE SET used = c.used + 1 WHERE c.used < $2 RETURNING 1`,
      [ownerKey, limit],
    );
    return rows.length > 0;
  }

  async release(tx: Queryable, ownerKey: string): Promise<void> {
    await tx.query('UPDATE schedule_counts SET used = used - 1 WHERE owner_key = $1', [ownerKey]);
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
