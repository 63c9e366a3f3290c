import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { newUid } from '#platform/kernel';
import type { TeamFeatures, TeamSettings } from '../domain/team-settings.js';
import { TeamRow } from '../persistence/entities.js';

export interface Team extends TeamSettings {
  readonly uid: string;
  readonly name: string;
  readonly maxConcurrentRuns: number | null;
  readonly createdAt: Date;
}

/** A field that is absent is not changed; null removes the value. */
export interface TeamChanges {
  readonly name?: string;
  readonly maxConcurrentRuns?: number | null;
  readonly defaultModelId?: string | null;
  readonly defaultWorkerHost?: string | null;
  readonly features?: Partial<TeamFeatures>;
}

export type UpdateTeamResult = { readonly kind: 'updated'; readonly team: Team } | { readonly kind: 'unknown_team' };

@Injectable()
export class TeamsService {
  constructor(@InjectRepository(TeamRow) private readonly teams: Repository<TeamRow>) {}

  async create(command: { readonly name: string; readonly maxConcurrentRuns?: number }): Promise<Team> {
    const uid = newUid();
    await this.teams.insert({ uid, name: command.name, maxConcurrentRuns: command.maxConcurrentRuns ?? null });
    return toTeam(await this.teams.findOneByOrFail({ uid }));
  }

  async list(): Promise<Team[]> {
    const rows = await this.teams.find({ order: { createdAt: 'ASC', uid: 'ASC' } });
    return rows.map(toTeam);
  }

  /** Takes effect within a second: settings come with the token, which a process caches for that long. */
  async update(uid: string, { features, ...changes }: TeamChanges): Promise<UpdateTeamResult> {
    const set = withoutUnset({
      ...changes,
      metadataFilter: features?.metadata_filter,
      schedules: features?.schedules,
    });
    if (Object.keys(set).length > 0) await this.teams.update({ uid }, set);
    const row = await this.teams.findOneBy({ uid });
    return row ? { kind: 'updated', team: toTeam(row) } : { kind: 'unknown_team' };
  }
}

const withoutUnset = <T extends object>(changes: T): Partial<T> =>
  Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined)) as Partial<T>;

const toTeam = (row: TeamRow): Team => ({
  uid: row.uid,
  name: row.name,
  maxConcurrentRuns: row.maxConcurrentRuns,
  defaultModelId: row.defaultModelId,
  defaultWorkerHost: row.defaultWorkerHost,
  features: { metadata_filter: row.metadataFilter, schedules: row.schedules },
  createdAt: row.createdAt,
});
