import { Injectable } from '@nestjs/common';
import { Database } from 'headrace/plugin';

export interface Note {
  readonly uid: string;
  readonly teamUid: string;
  readonly title: string;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
}

const NOTES = 'plugin_example_resource.notes';
const COLUMNS = 'uid, team_uid AS "teamUid", title, created_at AS "createdAt", expires_at AS "expiresAt"';
const MAX_LISTED = 100;

@Injectable()
export class NotesStore {
  constructor(private readonly database: Database) {}

  async find(uid: string): Promise<Note | null> {
    const [note] = await this.database.query<Note>(`SELECT ${COLUMNS} FROM ${NOTES} WHERE uid = $1`, [uid]);
    return note ?? null;
  }

  /** The newest ones. */
  listOf(teamUids: readonly string[]): Promise<Note[]> {
    return this.database.query<Note>(
      `SELECT ${COLUMNS} FROM ${NOTES} WHERE team_uid = ANY($1::text[]) ORDER BY created_at DESC LIMIT ${MAX_LISTED}`,
      [teamUids],
    );
  }

  async insert(note: Pick<Note, 'uid' | 'teamUid' | 'title' | 'expiresAt'>): Promise<Note> {
    const [inserted] = await this.database.query<Note>(
      `INSERT INTO ${NOTES} (uid, team_uid, title, expires_at) VALUES ($1, $2, $3, $4) RETURNING ${COLUMNS}`,
      [note.uid, note.teamUid, note.title, note.expiresAt],
    );
    return inserted as Note;
  }

  async delete(uid: string): Promise<void> {
    await this.database.query(`DELETE FROM ${NOTES} WHERE uid = $1`, [uid]);
  }

  async deleteExpired(): Promise<void> {
    await this.database.query(`DELETE FROM ${NOTES} WHERE expires_at <= headrace.now()`);
  }
}
