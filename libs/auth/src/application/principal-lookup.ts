import { Injectable } from '@nestjs/common';
import { Database } from '#libs/persistence';

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

  /** Uids of the teams that they are members of now, in whatever role; for what the service does for them later. */
  async teamsOf(userUid: string): Promise<string[]> {
    const rows = await this.database.query<{ team_uid: string }>(
      'SELECT team_uid FROM headrace.memberships WHERE user_uid = $1 ORDER BY created_at, team_uid',
      [userUid],
    );
    return rows.map(({ team_uid: teamUid }) => teamUid);
  }
}
