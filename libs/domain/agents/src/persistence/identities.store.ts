import { Injectable } from '@nestjs/common';
import { Database, type Queryable, type Statement, writtenRow } from '#platform/persistence';
import type { IdentityFields, IdentityHarness, StoredIdentity } from '../domain/agent-identity.js';
import type { McpServers } from '../domain/mcp-server.js';

interface Row {
  uid: string;
  team_uid: string;
  name: string;
  description: string | null;
  prompt: string | null;
  environment_id: string | null;
  default_runner_uid: string;
  worker_host: string | null;
  base_model: string | null;
  harness: IdentityHarness | null;
  skills: string[];
  mcp_servers: McpServers | null;
  secrets: string[];
  auto_memory: boolean;
  available: boolean;
  factory_uid: string | null;
  created_at: Date;
  updated_at: Date;
}

const FIELDS = [
  'name',
  'description',
  'prompt',
  'environment_id',
  'default_runner_uid',
  'worker_host',
  'base_model',
  'harness',
  'skills',
  'mcp_servers',
  'secrets',
  'auto_memory',
  'available',
] as const;
const columns = (prompt = 'prompt'): string =>
  `uid, team_uid, ${FIELDS.map((field) => (field === 'prompt' ? `${prompt} AS prompt` : field)).join(', ')}, factory_uid, created_at, updated_at`;
/** `$3, $4, …` for the fields, and the one behind them. */
const PLACES = FIELDS.map((_field, index) => `$${index + 3}`);
const LAST_PLACE = `$${FIELDS.length + 3}`;

/** A list shows this much of a prompt. */
export const LISTED_PROMPT_CHARACTERS = 2048;
/** No caller gets an unbounded list. */
const MAX_LISTED = 1000;

const FIND: Statement = {
  name: 'agents_find_identity',
  text: `SELECT ${columns()} FROM headrace.agent_identities WHERE uid = $1`,
};

@Injectable()
export class IdentitiesStore {
  constructor(private readonly database: Database) {}

  async find(uid: string, queryable: Queryable = this.database): Promise<StoredIdentity | null> {
    const [row] = await queryable.query<Row>(FIND, [uid]);
    return row ? toIdentity(row) : null;
  }

  /** By name, prompts cut. `factoryUid`: those of that factory's definition; null: all. */
  async listFor(teamUids: readonly string[], factoryUid: string | null): Promise<StoredIdentity[]> {
    const rows = await this.database.query<Row>(
      `SELECT ${columns(`left(prompt, ${LISTED_PROMPT_CHARACTERS})`)} FROM headrace.agent_identities
       WHERE team_uid = ANY($1::text[]) AND ($2::text IS NULL OR factory_uid = $2) ORDER BY lower(name), uid LIMIT ${MAX_LISTED}`,
      [teamUids, factoryUid],
    );
    return rows.map(toIdentity);
  }

  /** As it is, for this transaction to change. */
  async lock(tx: Queryable, uid: string): Promise<StoredIdentity | null> {
    const [row] = await tx.query<Row>(`SELECT ${columns()} FROM headrace.agent_identities WHERE uid = $1 FOR UPDATE`, [
      uid,
    ]);
    return row ? toIdentity(row) : null;
  }

  /** `factoryUid`: whose definition it is part of; names are unique within it, or within the team. */
  async insert(
    tx: Queryable,
    uid: string,
    { teamUid, factoryUid }: { readonly teamUid: string; readonly factoryUid: string | null },
    fields: IdentityFields,
  ): Promise<StoredIdentity> {
    const rows = await tx.query<Row>(
      `INSERT INTO headrace.agent_identities (uid, team_uid, ${FIELDS.join(', ')}, factory_uid)
       VALUES ($1, $2, ${PLACES.join(', ')}, ${LAST_PLACE}) RETURNING ${columns()}`,
      [uid, teamUid, ...valuesOf(fields), factoryUid],
    );
    return toIdentity(writtenRow(rows));
  }

  async update(tx: Queryable, uid: string, teamUid: string, fields: IdentityFields): Promise<StoredIdentity> {
    const rows = await tx.query<Row>(
      `UPDATE headrace.agent_identities SET ${FIELDS.map((field, index) => `${field} = ${PLACES[index]}`).join(', ')},
         updated_at = headrace.now()
       WHERE uid = $1 AND team_uid = $2 RETURNING ${columns()}`,
      [uid, teamUid, ...valuesOf(fields)],
    );
    return toIdentity(writtenRow(rows));
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

/** In the order of {@link FIELDS}. */
const valuesOf = (fields: IdentityFields): unknown[] => [
  fields.name,
  fields.description,
  fields.prompt,
  fields.environmentId,
  fields.defaultRunnerUid,
  fields.workerHost,
  fields.baseModel,
  fields.harness && JSON.stringify(fields.harness),
  fields.skills,
  fields.mcpServers && JSON.stringify(fields.mcpServers),
  fields.secrets,
  fields.autoMemory,
  fields.available,
];

const toIdentity = (row: Row): StoredIdentity => ({
  uid: row.uid,
  teamUid: row.team_uid,
  name: row.name,
  description: row.description,
  prompt: row.prompt,
  environmentId: row.environment_id,
  defaultRunnerUid: row.default_runner_uid,
  workerHost: row.worker_host,
  baseModel: row.base_model,
  harness: row.harness,
  skills: row.skills,
  mcpServers: row.mcp_servers,
  secrets: row.secrets,
  autoMemory: row.auto_memory,
  available: row.available,
  factoryUid: row.factory_uid,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
});
