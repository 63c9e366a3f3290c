import { Injectable } from '@nestjs/common';
import { Database, type Queryable } from '#platform/persistence';
import type { EnvironmentLink } from '../domain/environment-sharing.js';

interface Row {
  uid: string;
  environment_uid: string;
  expires_at: Date | null;
  max_uses: number | null;
  uses: number;
  creator_type: EnvironmentLink['creator']['type'];
  creator_uid: string;
  created_at: Date;
}

const COLUMNS = 'uid, environment_uid, expires_at, max_uses, uses, creator_type, creator_uid, created_at';

/** Links to environments and their holders. The row of the environment is locked during an insert. */
@Injectable()
export class EnvironmentLinksStore {
  constructor(private readonly database: Database) {}

  /** Oldest first; there are few. */
  async list(environmentUid: string, queryable: Queryable = this.database): Promise<EnvironmentLink[]> {
    const rows = await queryable.query<Row>(
      `SELECT ${COLUMNS} FROM headrace.environment_links WHERE environment_uid = $1 ORDER BY created_at, uid`,
      [environmentUid],
    );
    return rows.map(toLink);
  }

  /** The links that this person has redeemed, oldest first. */
  async listHeld(environmentUid: string, userUid: string): Promise<EnvironmentLink[]> {
    const rows = await this.database.query<Row>(
      `SELECT ${COLUMNS} FROM headrace.environment_links
       WHERE environment_uid = $1
         AND uid IN (SELECT link_uid FROM headrace.environment_link_holders WHERE environment_uid = $1 AND user_uid = $2)
       ORDER BY created_at, uid`,
      [environmentUid, userUid],
    );
    return rows.map(toLink);
  }

  async insert(
    tx: Queryable,
    link: Omit<EnvironmentLink, 'createdAt' | 'uses'>,
    tokenHash: Buffer,
  ): Promise<EnvironmentLink> {
    const [row] = await tx.query<Row>(
      `INSERT INTO headrace.environment_links (uid, environment_uid, token_hash, expires_at, max_uses, creator_type, creator_uid)
       VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING ${COLUMNS}`,
      [link.uid, link.environmentUid, tokenHash, link.expiresAt, link.maxUses, link.creator.type, link.creator.uid],
    );
    if (!row) throw new Error('INSERT … RETURNING gave no row');
    return toLink(row);
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
  async lockByToken(tx: Queryable, tokenHash: Buffer): Promise<EnvironmentLink | null> {
    const [row] = await tx.query<Row>(
      `SELECT ${COLUMNS} FROM headrace.environment_links
       WHERE token_hash = $1 AND (expires_at IS NULL OR expires_at > headrace.now()) FOR UPDATE`,
      [tokenHash],
    );
    return row ? toLink(row) : null;
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

  /** The use stays used: a link that lets one person in lets nobody in after them. False: they were none. */
  async removeHolder(environmentUid: string, linkUid: string, userUid: string): Promise<boolean> {
    const rows = await this.database.query(
      `DELETE FROM headrace.environment_link_holders
       WHERE environment_uid = $1 AND link_uid = $2 AND user_uid = $3 RETURNING 1`,
      [environmentUid, linkUid, userUid],
    );
    return rows.length > 0;
  }
}

function toLink(row: Row): EnvironmentLink {
  return {
    uid: row.uid,
    environmentUid: row.environment_uid,
    expiresAt: row.expires_at,
    maxUses: row.max_uses,
    uses: row.uses,
    creator: { type: row.creator_type, uid: row.creator_uid },
    createdAt: row.created_at,
  };
}
