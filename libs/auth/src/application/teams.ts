import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { newUid } from '#libs/kernel';
import { TeamRow } from '../persistence/entities.js';

export interface Team {
  readonly uid: string;
  readonly name: string;
  readonly maxConcurrentRuns: number | null;
  readonly createdAt: Date;
}

@Injectable()
export class CreateTeam {
  constructor(@InjectRepository(TeamRow) private readonly teams: Repository<TeamRow>) {}

  async execute(command: { readonly name: string; readonly maxConcurrentRuns?: number }): Promise<Team> {
    const uid = newUid();
    await this.teams.insert({ uid, name: command.name, maxConcurrentRuns: command.maxConcurrentRuns ?? null });
    return toTeam(await this.teams.findOneByOrFail({ uid }));
  }
}

@Injectable()
export class ListTeams {
  constructor(@InjectRepository(TeamRow) private readonly teams: Repository<TeamRow>) {}

  async execute(): Promise<Team[]> {
    const rows = await this.teams.find({ order: { createdAt: 'ASC', uid: 'ASC' } });
    return rows.map(toTeam);
  }
}

const toTeam = ({ uid, name, maxConcurrentRuns, createdAt }: TeamRow): Team => ({
  uid,
  name,
  maxConcurrentRuns,
  createdAt,
});
