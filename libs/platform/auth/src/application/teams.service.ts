import { Injectable } from '@nestjs/common';
import { newUid } from '#platform/kernel';
import { Database, writtenRow } from '#platform/persistence';
import type { TeamFeatures, TeamSettings } from '../domain/principal.js';

export interface Team extends TeamSettings {
  readonly uid: string;
  readonly name: string;
  readonly maxConcurrentRuns: number | null;
  readonly createdAt: Date;
}

/** A field that is absent is not changed; null removes the value. */
export type TeamChanges = Partial<Omit<Team, 'uid' | 'createdAt' | 'features'>> & {
  readonly features?: Partial<TeamFeatures>;
};

const COLUMNS = `t.uid, t.name, t.max_concurrent_runs AS "maxConcurrentRuns", t.default_model_id AS "defaultModelId",
  t.default_worker_host AS "defaultWorkerHost", t.created_at AS "createdAt",
  json_build_object('metadata_filter', t.metadata_filter, 'schedules', t.schedules) AS features`;

@Injectable()
export class TeamsService {
  constructor(private readonly database: Database) {}

  async create({
    name,
    maxConcurrentRuns,
  }: {
    readonly name: string;
    readonly maxConcurrentRuns?: number;
  }): Promise<Team> {
    const rows = await this.database.query<Team>(
      `INSERT INTO headrace.teams AS t (uid, name, max_concurrent_runs) VALUES ($1, $2, $3) RETURNING ${COLUMNS}`,
      [newUid(), name, maxConcurrentRuns],
    );
    return writtenRow(rows);
  }

  list(): Promise<Team[]> {
    return this.database.query<Team>(`SELECT ${COLUMNS} FROM headrace.teams t ORDER BY t.created_at, t.uid`);
  }

  /** Those of these uids, by name; null: all teams. After `after`, at most `limit`. */
  search(
    uids: readonly string[] | null,
    after: { readonly name: string; readonly uid: string } | null,
    limit: number,
  ): Promise<Team[]> {
    return this.database.query<Team>(
      `SELECT ${COLUMNS} FROM headrace.teams t
        WHERE ($1::text[] IS NULL OR t.uid = ANY($1)) AND ($2::text IS NULL OR (lower(t.name), t.uid) > (lower($2), $3))
        ORDER BY lower(t.name), t.uid LIMIT $4`,
      [uids, after?.name, after?.uid, limit],
    );
  }

  async find(uid: string): Promise<Team | null> {
    const [team] = await this.database.query<Team>(`SELECT ${COLUMNS} FROM headrace.teams t WHERE t.uid = $1`, [uid]);
    return team ?? null;
  }

  /** Takes effect within a second: settings come with the token, which a process caches for that long. */
  async update(
    uid: string,
    { name, maxConcurrentRuns, defaultModelId, defaultWorkerHost, features }: TeamChanges,
  ): Promise<{ readonly kind: 'updated'; readonly team: Team } | { readonly kind: 'unknown_team' }> {
    // What is undefined is not in the JSON text, and jsonb_populate_record keeps the value of a key that is absent.
    const changes = JSON.stringify({
      name,
      max_concurrent_runs: maxConcurrentRuns,
      default_model_id: defaultModelId,
      default_worker_host: defaultWorkerHost,
      ...features,
    });
    const changed = 'name, max_concurrent_runs, default_model_id, default_worker_host, metadata_filter, schedules';
    const [team] = await this.database.query<Team>(
      `UPDATE headrace.teams t SET (${changed}) = (SELECT ${changed} FROM jsonb_populate_record(t, $2::jsonb))
       WHERE t.uid = $1 RETURNING ${COLUMNS}`,
      [uid, changes],
    );
    return team ? { kind: 'updated', team } : { kind: 'unknown_team' };
  }
}
