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

/** Service accounts of agent identities, which are created, renamed and disabled in the transaction of their identity. */
@Injectable()
export class ServiceAccounts {
  async create(tx: Queryable, { uid, teamUid, name }: ServiceAccount): Promise<void> {
    await tx.query(
      'INSERT INTO headrace.service_accounts (uid, team_uid, name, is_agent_identity) VALUES ($1, $2, $3, true)',
      [uid, teamUid, name],
    );
  }

  async rename(tx: Queryable, uid: string, name: string): Promise<void> {
    await tx.query('UPDATE headrace.service_accounts SET name = $2 WHERE uid = $1', [uid, name]);
  }

  /** For good: its tokens end and it gets no new ones. Its name stays for history. */
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
