import { Injectable } from '@nestjs/common';
import { Database, listedUids, type Queryable, writtenRow } from '#platform/persistence';
import type { RegisteredServer, ServerFields } from '../domain/mcp-server.js';

const COLUMNS =
  'uid, team_uid AS "teamUid", name, description, config, created_at AS "createdAt", updated_at AS "updatedAt"';
const SELECT = `SELECT ${COLUMNS} FROM headrace.mcp_servers`;
const LISTED = listedUids({
  rows: 'SELECT uid, team_uid AS owner, listed_bytes AS bytes FROM headrace.mcp_servers WHERE team_uid = ANY($1::text[])',
  max: 1000,
});

@Injectable()
export class McpServersStore {
  constructor(private readonly database: Database) {}

  async find(uid: string): Promise<RegisteredServer | null> {
    const [server] = await this.database.query<RegisteredServer>(`${SELECT} WHERE uid = $1`, [uid]);
    return server ?? null;
  }

  findOfTeam(
    teamUid: string,
    uids: readonly string[],
    queryable: Queryable = this.database,
  ): Promise<RegisteredServer[]> {
    return queryable.query<RegisteredServer>(`${SELECT} WHERE team_uid = $1 AND uid = ANY($2::text[])`, [
      teamUid,
      uids,
    ]);
  }

  listFor(teamUids: readonly string[]): Promise<RegisteredServer[]> {
    return this.database.query<RegisteredServer>(`${SELECT} WHERE uid IN (${LISTED}) ORDER BY lower(name), uid`, [
      teamUids,
    ]);
  }

  async lock(tx: Queryable, uid: string): Promise<RegisteredServer | null> {
    const [server] = await tx.query<RegisteredServer>(`${SELECT} WHERE uid = $1 FOR UPDATE`, [uid]);
    return server ?? null;
  }

  async insert(
    tx: Queryable,
    uid: string,
    teamUid: string,
    { name, description, config }: ServerFields,
  ): Promise<RegisteredServer> {
    return writtenRow(
      await tx.query<RegisteredServer>(
        `INSERT INTO headrace.mcp_servers (uid, team_uid, name, description, config)
         VALUES ($1, $2, $3, $4, $5) RETURNING ${COLUMNS}`,
        [uid, teamUid, name, description, config],
      ),
    );
  }

  async update(tx: Queryable, uid: string, { name, description, config }: ServerFields): Promise<RegisteredServer> {
    return writtenRow(
      await tx.query<RegisteredServer>(
        `UPDATE headrace.mcp_servers SET name = $2, description = $3, config = $4, updated_at = headrace.now()
         WHERE uid = $1 RETURNING ${COLUMNS}`,
        [uid, name, description, config],
      ),
    );
  }

  async delete(uid: string): Promise<boolean> {
    const rows = await this.database.query('DELETE FROM headrace.mcp_servers WHERE uid = $1 RETURNING 1', [uid]);
    return rows.length > 0;
  }
}
