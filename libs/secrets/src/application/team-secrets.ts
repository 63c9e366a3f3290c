import { Injectable } from '@nestjs/common';
import { Database } from '#libs/persistence';
import { MAX_SECRETS_PER_TEAM, type SecretRecord } from '../domain/managed-secret.js';
import { ManagedSecretsStore } from '../persistence/managed-secrets.store.js';
import { ManagedSecrets, type RemoveSecretResult } from './managed-secrets.js';
import { SecretRefusedError } from './secret-sinks.js';

export type SetSecretResult =
  | { readonly kind: 'set'; readonly secret: SecretRecord }
  /** `reason` completes "`value` …". */
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'limit_reached'; readonly limit: number };

/** Rolls back what a transaction has written that turned out to be one too many. */
class OneTooMany extends Error {}

/** What people may do with the managed secrets of a team. Whether they may is asked at the edge. */
@Injectable()
export class TeamSecrets {
  constructor(
    private readonly database: Database,
    private readonly store: ManagedSecretsStore,
    private readonly managed: ManagedSecrets,
  ) {}

  list(teamUid: string): Promise<SecretRecord[]> {
    return this.store.list(teamUid);
  }

  /** Makes it, or gives it another value; what follows it follows in the same moment. */
  async set(teamUid: string, name: string, value: string): Promise<SetSecretResult> {
    try {
      const secret = await this.database.transaction(async (tx) => {
        const put = await this.managed.putWithin(tx, { teamUid, name, value }, MAX_SECRETS_PER_TEAM);
        if (!put) throw new OneTooMany();
        return put;
      });
      return { kind: 'set', secret };
    } catch (error) {
      if (error instanceof OneTooMany) return { kind: 'limit_reached', limit: MAX_SECRETS_PER_TEAM };
      if (error instanceof SecretRefusedError) return { kind: 'refused', reason: error.reason };
      throw error;
    }
  }

  delete(teamUid: string, name: string): Promise<RemoveSecretResult> {
    return this.database.transaction((tx) => this.managed.remove(tx, teamUid, name));
  }
}
