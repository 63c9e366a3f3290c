import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { newUid } from '#libs/kernel';
import { ServiceAccountRow, TeamRow } from '../persistence/entities.js';

export interface ServiceAccount {
  readonly uid: string;
  readonly teamUid: string;
  readonly name: string;
}

export type CreateServiceAccountResult =
  { readonly kind: 'created'; readonly serviceAccount: ServiceAccount } | { readonly kind: 'unknown_team' };

/** A principal that is no person and belongs to one team. */
@Injectable()
export class CreateServiceAccount {
  constructor(
    @InjectRepository(TeamRow) private readonly teams: Repository<TeamRow>,
    @InjectRepository(ServiceAccountRow) private readonly accounts: Repository<ServiceAccountRow>,
  ) {}

  async execute({
    teamUid,
    name,
  }: {
    readonly teamUid: string;
    readonly name: string;
  }): Promise<CreateServiceAccountResult> {
    if (!(await this.teams.existsBy({ uid: teamUid }))) return { kind: 'unknown_team' };
    const serviceAccount = { uid: newUid(), teamUid, name };
    await this.accounts.insert(serviceAccount);
    return { kind: 'created', serviceAccount };
  }
}
