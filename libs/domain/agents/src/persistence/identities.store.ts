import { Injectable } from '@nestjs/common';
import { Database, listedUids, type Queryable, writtenRow, statement } from '#platform/persistence';
import type { AgentIdentity, IdentityFields } from '../domain/agent-identity.js';

const COLUMN_OF: Readonly<Record<keyof IdentityFields, string>> = {
  name: 'name',
  description: 'description',
  prompt: 'prompt',
  environmentId: 'environment_id',
  defaultRunnerUid: 'default_runner_uid',
  workerHost: 'worker_host',
  baseModel: 'base_model',
  harness: 'harness',
  skills: 'skills',
  mcpServers: 'mcp_servers',
  secrets: 'secrets',
  autoMemory: 'auto_memory',
  available: 'available',
};
const FIELDS = Object.keys(COLUMN_OF) as (keyof IdentityFields)[];
const columns = (prompt = 'prompt'): string =>
  [
    'uid, team_uid AS "teamUid", factory_uid AS "factoryUid", created_at AS "createdAt", updated_at AS "updatedAt"',
    ...FIELDS.map((field) => `${field === 'prompt' ? prompt : COLUMN_OF[field]} AS "${field}"`),
  ].join(', ');
const valuesOf = (fields: IdentityFields): unknown[] => FIELDS.map((field) => fields[field]);
/** `$3, $4, …` for the fields, and the one behind them. */
const PLACES = FIELDS.map((_field, index) => `$${index + 3}`);
const LAST_PLACE = `$${FIELDS.length + 3}`;

const LISTED_PROMPT_CHARACTERS = 2048;
const LISTED = listedUids({
  rows: `SELECT uid, team_uid AS owner, listed_bytes + octet_length(array_to_json(skills)::text || array_to_json(secrets)::text) AS bytes
      FROM headrace.agent_identities WHERE team_uid = ANY($1::text[]) AND ($2::text IS NULL OR factory_uid = $2)`,
  max: 1000,
});

const FIND = statement('agents_find_identity')`
  SELECT ${columns()} FROM headrace.agent_identities WHERE uid = $1`;

@Injectable()
export class IdentitiesStore {
  constructor(private readonly database: Database) {}

  async find(uid: string, queryable: Queryable = this.database): Promise<AgentIdentity | null> {
    const [identity] = await queryable.query<AgentIdentity>(FIND, [uid]);
    return identity ?? null;
  }

  listFor(teamUids: readonly string[], factoryUid: string | null): Promise<AgentIdentity[]> {
    return this.database.query<AgentIdentity>(
      `SELECT ${columns(`left(prompt, ${LISTED_PROMPT_CHARACTERS})`)} FROM headrace.agent_identities
       WHERE uid IN (${LISTED}) ORDER BY lower(name), uid`,
      [teamUids, factoryUid],
    );
  }

  async lock(tx: Queryable, uid: string): Promise<AgentIdentity | null> {
    const [identity] = await tx.query<AgentIdentity>(`${FIND.text} FOR UPDATE`, [uid]);
    return identity ?? null;
  }

  /** `factoryUid`: whose definition it is part of; names are unique within it, or within the team. */
  async insert(
    tx: Queryable,
    uid: string,
    { teamUid, factoryUid }: Pick<AgentIdentity, 'teamUid' | 'factoryUid'>,
    fields: IdentityFields,
  ): Promise<AgentIdentity> {
    return writtenRow(
      await tx.query<AgentIdentity>(
        `INSERT INTO headrace.agent_identities (uid, team_uid, ${Object.values(COLUMN_OF).join(', ')}, factory_uid)
         VALUES ($1, $2, ${PLACES.join(', ')}, ${LAST_PLACE}) RETURNING ${columns()}`,
        [uid, teamUid, ...valuesOf(fields), factoryUid],
      ),
    );
  }

  async update(tx: Queryable, uid: string, teamUid: string, fields: IdentityFields): Promise<AgentIdentity> {
    const assignments = FIELDS.map((field, index) => `${COLUMN_OF[field]} = ${PLACES[index]}`);
    return writtenRow(
      await tx.query<AgentIdentity>(
        `UPDATE headrace.agent_identities SET ${assignments.join(', ')}, updated_at = headrace.now()
         WHERE uid = $1 AND team_uid = $2 RETURNING ${columns()}`,
        [uid, teamUid, ...valuesOf(fields)],
      ),
    );
  }

  async delete(tx: Queryable, uid: string): Promise<boolean> {
    const rows = await tx.query('DELETE FROM headrace.agent_identities WHERE uid = $1 RETURNING 1', [uid]);
    return rows.length > 0;
  }

  async count(tx: Queryable, teamUid: string): Promise<number> {
    const [row] = await tx.query<{ count: number }>(
      'SELECT count(*)::int AS count FROM headrace.agent_identities WHERE team_uid = $1',
      [teamUid],
    );
    return row?.count ?? 0;
  }

  /** Their uids become their names until each has its new name. */
  async freeNames(tx: Queryable, teamUid: string, uids: readonly string[]): Promise<void> {
    await tx.query('UPDATE headrace.agent_identities SET name = uid WHERE team_uid = $1 AND uid = ANY($2::text[])', [
      teamUid,
      uids,
    ]);
  }
}
