import { Injectable } from '@nestjs/common';
import { Database, type Queryable, writtenRow } from '#platform/persistence';
import type { EnvironmentLink } from '../domain/environment-sharing.js';

const COLUMNS = `uid, environment_uid AS "environmentUid", expires_at AS "expiresAt", max_uses AS "maxUses", uses,
  json_build_object('type', creator_type, 'uid', creator_uid) AS creator, created_at AS "createdAt"`;

/** Links to environments and their holders. The row of the environment is locked during an insert. */
@Injectable()
export class EnvironmentLinksStore {
  constructor(private readonly database: Database) {}

  /** Oldest first; there are few. With `holderUid` those that this person has redeemed. */
  list(
    environmentUid: string,
    { queryable = this.database, holderUid }: { queryable?: Queryable; holderUid?: string } = {},
  ): Promise<EnvironmentLink[]> {
    return queryable.query<EnvironmentLink>(
      `SELECT ${COLUMNS} FROM headrace.environment_links l
       WHERE environment_uid = $1 AND ($2::text IS NULL
         OR uid IN (SELECT link_uid FROM headrace.environment_link_holders WHERE environment_uid = $1 AND user_uid = $2))
       ORDER BY l.created_at, uid`,
      [environmentUid, holderUid],
    );
  }

  async insert(
    tx: Queryable,
    link: Omit<EnvironmentLink, 'createdAt' | 'uses'>,
    tokenHash: Buffer,
  ): Promise<EnvironmentLink> {
    const rows = await tx.query<EnvironmentLink>(
      `INSERT INTO headrace.environment_links (uid, environment_uid, token_hash, expires_at, max_uses, creator_type, creator_uid)
       VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING ${COLUMNS}`,
      [link.uid, link.environmentUid, tokenHash, link.expiresAt, link.maxUses, link.creator.type, link.creator.uid],
    );
    return writtenRow(rows);
  }

  /** Its holders lose their access. */
  async delete(environmentUid: string, uid: string): Promise<boolean> {
    const rows = await this.database.query(
      'DELETE FROM headrace.environment_links WHERE environment_uid = $1 AND uid = $2 RETURNING 1',
      [environmentUid, uid],
    );
    return rows.length > 0;
  }

  /** One that has not expired. It is neither revoked nor redeemed by others until the transaction ends. */
  async lockByToken(tx: Queryable, tokenHash: Buffer): Promise<EnvironmentLink | undefined> {
    const [link] = await tx.query<EnvironmentLink>(
      `SELECT ${COLUMNS} FROM headrace.environment_links
       WHERE token_hash = $1 AND (expires_at IS NULL OR expires_at > headrace.now()) FOR UPDATE`,
      [tokenHash],
    );
    return link;
  }

  async holds(tx: Queryable, { uid }: EnvironmentLink, userUid: string): Promise<boolean> {
    const rows = await tx.query(
      'SELECT 1 FROM headrace.environment_link_holders WHERE link_uid = $1 AND user_uid = $2',
      [uid, userUid],
    );
    return rows.length > 0;
  }

  /** The link is locked, is not used up and has not been redeemed by this person. */
  async addHolder(tx: Queryable, { uid, environmentUid }: EnvironmentLink, userUid: string): Promise<void> {
    await tx.query(
      `INSERT INTO headrace.environment_link_holders (link_uid, environment_uid, user_uid) VALUES ($1, $2, $3)`,
      [uid, environmentUid, userUid],
    );
    await tx.query('UPDATE headrace.environment_links SET uses = uses + 1 WHERE uid = $1', [uid]);
  }

  /** The use still counts: a link for one person is used up after that person has left. False: the person was no holder. */
  async removeHolder(environmentUid: string, linkUid: string, userUid: string): Promise<boolean> {
    const rows = await this.database.query(
      `DELETE FROM headrace.environment_link_holders
       WHERE environment_uid = $1 AND link_uid = $2 AND user_uid = $3 RETURNING 1`,
      [environmentUid, linkUid, userUid],
    );
    return rows.length > 0;
  }
}
