import { Injectable } from '@nestjs/common';
import { newUid } from '#platform/kernel';
import { Database, type Queryable } from '#platform/persistence';

export interface ServiceAccount {
  readonly uid: string;
  readonly teamUid: string;
  readonly name: string;
}

/** A service account is a principal of one team that is not a person. */
@Injectable()
export class ServiceAccountsService {
  constructor(private readonly database: Database) {}

  async create({
    teamUid,
    name,
  }: Pick<ServiceAccount, 'teamUid' | 'name'>): Promise<
    { readonly kind: 'created'; readonly serviceAccount: ServiceAccount } | { readonly kind: 'unknown_team' }
  > {
    const serviceAccount = { uid: newUid(), teamUid, name };
    const created = await this.database.query(
      `INSERT INTO headrace.service_accounts (uid, team_uid, name)
       SELECT $1, uid, $3 FROM headrace.teams WHERE uid = $2 RETURNING 1`,
      [serviceAccount.uid, teamUid, name],
    );
    return created.length > 0 ? { kind: 'created', serviceAccount } : { kind: 'unknown_team' };
  }

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
