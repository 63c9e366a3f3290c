import { Injectable } from '@nestjs/common';
import { newUid } from '#platform/kernel';
import { Database, type Queryable, type Transaction } from '#platform/persistence';
import { AccessChanges } from './token-authenticator.js';

export interface ServiceAccount {
  readonly uid: string;
  readonly teamUid: string;
  readonly name: string;
}

export interface ListedServiceAccount extends ServiceAccount {
  /** The account of an agent identity, which manages it. */
  readonly isAgentIdentity: boolean;
  readonly createdAt: Date;
}

const LISTED = `uid, team_uid AS "teamUid", name, is_agent_identity AS "isAgentIdentity", created_at AS "createdAt"`;

/** A service account is a principal of one team that is not a person. */
@Injectable()
export class ServiceAccountsService {
  constructor(
    private readonly database: Database,
    private readonly changes: AccessChanges,
  ) {}

  async create({
    teamUid,
    name,
  }: Pick<ServiceAccount, 'teamUid' | 'name'>): Promise<
    { readonly kind: 'created'; readonly serviceAccount: ListedServiceAccount } | { readonly kind: 'unknown_team' }
  > {
    const [serviceAccount] = await this.database.query<ListedServiceAccount>(
      `INSERT INTO headrace.service_accounts (uid, team_uid, name)
       SELECT $1, uid, $3 FROM headrace.teams WHERE uid = $2 RETURNING ${LISTED}`,
      [newUid(), teamUid, name],
    );
    return serviceAccount ? { kind: 'created', serviceAccount } : { kind: 'unknown_team' };
  }

  /** Those that are not disabled, by name, after `after`. */
  list(
    teamUid: string,
    after: { readonly name: string; readonly uid: string } | null,
    limit: number,
  ): Promise<ListedServiceAccount[]> {
    return this.database.query<ListedServiceAccount>(
      `SELECT ${LISTED} FROM headrace.service_accounts
        WHERE team_uid = $1 AND disabled_at IS NULL AND ($2::text IS NULL OR (lower(name), uid) > (lower($2), $3))
        ORDER BY lower(name), uid LIMIT $4`,
      [teamUid, after?.name, after?.uid, limit],
    );
  }

  /** Null also for one that is disabled. */
  async find(uid: string): Promise<ListedServiceAccount | null> {
    const [account] = await this.database.query<ListedServiceAccount>(
      `SELECT ${LISTED} FROM headrace.service_accounts WHERE uid = $1 AND disabled_at IS NULL`,
      [uid],
    );
    return account ?? null;
  }

  /** See {@link disable}. */
  delete(uid: string): Promise<void> {
    return this.database.transaction((tx) => this.disable(tx, uid));
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
  async disable(tx: Transaction, uid: string): Promise<void> {
    await tx.query(
      'UPDATE headrace.service_accounts SET disabled_at = headrace.now() WHERE uid = $1 AND disabled_at IS NULL',
      [uid],
    );
    await tx.query(
      'UPDATE headrace.tokens SET revoked_at = headrace.now() WHERE service_account_uid = $1 AND revoked_at IS NULL',
      [uid],
    );
    await this.changes.announce(tx);
  }
}
