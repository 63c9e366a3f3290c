import { Injectable } from '@nestjs/common';
import { Database, type Statement } from '#platform/persistence';
import type { Membership } from '../domain/principal.js';
import { membershipsSql } from '../persistence/token-queries.js';

const MEMBERSHIPS: Statement = {
  name: 'auth_memberships_of_user',
  text: `SELECT coalesce(${membershipsSql('u.uid')}, '[]') AS memberships
FROM headrace.users u WHERE u.uid = $1 AND u.disabled_at IS NULL`,
};

/** Finds people and teams that somebody has named, and the teams of a person. One round trip each. */
@Injectable()
export class PrincipalLookup {
  constructor(private readonly database: Database) {}

  /** The uid of a user, or null. The case of an address does not matter. */
  async findUser(by: { readonly uid: string } | { readonly email: string }): Promise<string | null> {
    const [where, value] = 'uid' in by ? ['uid = $1', by.uid] : ['lower(email) = lower($1)', by.email];
    const [row] = await this.database.query<{ uid: string }>(`SELECT uid FROM headrace.users WHERE ${where}`, [value]);
    return row?.uid ?? null;
  }

  async isTeam(uid: string): Promise<boolean> {
    const rows = await this.database.query('SELECT 1 FROM headrace.teams WHERE uid = $1', [uid]);
    return rows.length > 0;
  }

  /** The current memberships of a user, for what the service does for them later; null: unknown or disabled. */
  async membershipsOf(userUid: string): Promise<readonly Membership[] | null> {
    const [row] = await this.database.query<{ memberships: Membership[] }>(MEMBERSHIPS, [userUid]);
    return row?.memberships ?? null;
  }
}
