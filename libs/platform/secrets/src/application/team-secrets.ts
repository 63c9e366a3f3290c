import { Injectable } from '@nestjs/common';
import { Database } from '#platform/persistence';
import {
  MAX_SECRETS_PER_TEAM,
  type SecretPurpose,
  type SecretRecord,
  WEBHOOK_SECRET_PREFIX,
} from '../domain/managed-secret.js';
import { ManagedSecretsStore } from '../persistence/managed-secrets.store.js';
import { type DeleteSecretResult, ManagedSecrets } from './managed-secrets.js';
import { SecretRejectedError } from './secret-change-listeners.js';

export type PutSecretResult =
  | { readonly kind: 'stored'; readonly secret: SecretRecord }
  /** `reason` completes "`value` …". */
  | { readonly kind: 'invalid_value'; readonly reason: string }
  | { readonly kind: 'limit_reached'; readonly limit: number }
  /** It cannot become a secret for runs: these webhooks, named for people, authenticate senders with it. */
  | { readonly kind: 'in_use'; readonly by: readonly string[] }
  /** Names of this form are for webhooks. */
  | { readonly kind: 'reserved_name' };

/** Rolls back a transaction with the result that the caller receives. */
class Rollback extends Error {
  constructor(readonly result: PutSecretResult) {
    super('The transaction is rolled back.');
  }
}

/** Managed secrets for people. The caller has been authorized before. */
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

  /** Creates a secret or replaces its value; copies follow in the same transaction. `purpose` null keeps the stored one. */
  async put(
    teamUid: string,
    name: string,
    { value, purpose }: { readonly value: string; readonly purpose: SecretPurpose | null },
  ): Promise<PutSecretResult> {
    if (purpose === 'run' && name.startsWith(WEBHOOK_SECRET_PREFIX)) return { kind: 'reserved_name' };
    try {
      const secret = await this.database.transaction(async (tx) => {
        const stored = await this.managed.putWithin(tx, { teamUid, name, value, purpose }, MAX_SECRETS_PER_TEAM);
        if (!stored) throw new Rollback({ kind: 'limit_reached', limit: MAX_SECRETS_PER_TEAM });
        const by = purpose === 'run' ? await this.managed.usedBy(tx, teamUid, name) : [];
        if (by.length > 0) throw new Rollback({ kind: 'in_use', by });
        return stored;
      });
      return { kind: 'stored', secret };
    } catch (error) {
      if (error instanceof Rollback) return error.result;
      if (error instanceof SecretRejectedError) return { kind: 'invalid_value', reason: error.reason };
      throw error;
    }
  }

  delete(teamUid: string, name: string): Promise<DeleteSecretResult> {
    return this.database.transaction((tx) => this.managed.delete(tx, teamUid, name));
  }
}
