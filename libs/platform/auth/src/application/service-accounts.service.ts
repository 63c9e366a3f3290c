import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { newUid } from '#platform/kernel';
import type { Queryable } from '#platform/persistence';
import { ServiceAccountRow, TeamRow } from '../persistence/entities.js';

export interface ServiceAccount {
  readonly uid: string;
  readonly teamUid: string;
  readonly name: string;
}

export type CreateServiceAccountResult =
  { readonly kind: 'created'; readonly serviceAccount: ServiceAccount } | { readonly kind: 'unknown_team' };

/** A service account is a principal of one team that is not a person. */
@Injectable()
export class ServiceAccountsService {
  constructor(
    @InjectRepository(TeamRow) private readonly teams: Repository<TeamRow>,
    @InjectRepository(ServiceAccountRow) private readonly accounts: Repository<ServiceAccountRow>,
  ) {}

  async create({
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

  /** Creates the service account of an agent identity, in the transaction that creates the identity. */
  async createForIdentity(tx: Queryable, { uid, teamUid, name }: ServiceAccount): Promise<void> {
    await tx.query(
      'INSERT INTO headrace.service_accounts (uid, team_uid, name, is_agent_identity) VALUES ($1, $2, $3, true)',
      [uid, teamUid, name],
    );
  }

  async rename(tx: Queryable, uid: string, name: string): Promise<void> {
    await tx.query('UPDATE headrace.service_accounts SET name = $2 WHERE uid = $1', [uid, name]);
  }

  /** Permanent: its tokens are revoked and none can be created. The row is kept, because history shows its name. */
  async disable(tx: Queryable, uid: string): Promise<void> {
    await tx.query(
      'UPDATE headrace.service_accounts SET disabled_at = headrace.now() WHERE uid = $1 AND disabled_at IS NULL',
      [uid],
    );
    await tx.query(
      'UPDATE headrace.tokens SET revoked_at = headrace.now() WHERE service_account_uid = $1 AND revoked_at IS NULL',
      [uid],
    );
  }
}
