import { Injectable } from '@nestjs/common';
import { Database, type Queryable, writtenRow } from '#platform/persistence';
import type { McpServerConfig, RegisteredServer, ServerFields } from '../domain/mcp-server.js';

interface Row {
  uid: string;
  team_uid: string;
  name: string;
  description: string | null;
  config: McpServerConfig;
  created_at: Date;
  updated_at: Date;
}

const COLUMNS = 'uid, team_uid, name, description, config, created_at, updated_at';
/** No caller gets an unbounded list. */
const MAX_LISTED = 1000;

@Injectable()
export class McpServersStore {
  constructor(private readonly database: Database) {}

  async find(uid: string): Promise<RegisteredServer | null> {
    const [row] = await this.database.query<Row>(`SELECT ${COLUMNS} FROM headrace.mcp_servers WHERE uid = $1`, [uid]);
    return row ? toServer(row) : null;
  }

  async findOfTeam(
    teamUid: string,
    uids: readonly string[],
    queryable: Queryable = this.database,
  ): Promise<RegisteredServer[]> {
    const rows = await queryable.query<Row>(
      `SELECT ${COLUMNS} FROM headrace.mcp_servers WHERE team_uid = $1 AND uid = ANY($2::text[])`,
      [teamUid, uids],
    );
    return rows.map(toServer);
  }

  /** By name. */
  async listFor(teamUids: readonly string[]): Promise<RegisteredServer[]> {
    const rows = await this.database.query<Row>(
      `SELECT ${COLUMNS} FROM headrace.mcp_servers WHERE team_uid = ANY($1::text[])
       ORDER BY lower(name), uid LIMIT ${MAX_LISTED}`,
      [teamUids],
    );
    return rows.map(toServer);
  }

  /** As it is, for this transaction to change. */
  async lock(tx: Queryable, uid: string): Promise<RegisteredServer | null> {
    const [row] = await tx.query<Row>(`SELECT ${COLUMNS} FROM headrace.mcp_servers WHERE uid = $1 FOR UPDATE`, [uid]);
    return row ? toServer(row) : null;
  }

  async insert(
    tx: Queryable,
    uid: string,
    teamUid: string,
    { name, description, config }: ServerFields,
  ): Promise<RegisteredServer> {
    const rows = await tx.query<Row>(
      `INSERT INTO headrace.mcp_servers (uid, team_uid, name, description, config)
       VALUES ($1, $2, $3, $4, $5) RETURNING ${COLUMNS}`,
      [uid, teamUid, name, description, JSON.stringify(config)],
    );
    return toServer(writtenRow(rows));
  }

  async update(tx: Queryable, uid: string, { name, description, config }: ServerFields): Promise<RegisteredServer> {
    const rows = await tx.query<Row>(
      `UPDATE headrace.mcp_servers SET name = $2, description = $3, config = $4, updated_at = headrace.now()
       WHERE uid = $1 RETURNING ${COLUMNS}`,
      [uid, name, description, JSON.stringify(config)],
    );
    return toServer(writtenRow(rows));
  }

  async delete(uid: string): Promise<boolean> {
    const rows = await this.database.query('DELETE FROM headrace.mcp_servers WHERE uid = $1 RETURNING 1', [uid]);
    return rows.length > 0;
  }
}

const toServer = (row: Row): RegisteredServer => ({
  uid: row.uid,
  teamUid: row.team_uid,
  name: row.name,
  description: row.description,
  config: row.config,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
});
