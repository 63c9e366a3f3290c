import { Injectable } from '@nestjs/common';
import { Database } from '#platform/persistence';
import {
  MAX_SECRETS_PER_TEAM,
  type SecretPurpose,
  type SecretRecord,
  WEBHOOK_SECRET_PREFIX,
} from '../domain/managed-secret.js';
import { ManagedSecretsStore } from '../persistence/managed-secrets.store.js';
import { ManagedSecrets, type RemoveSecretResult } from './managed-secrets.js';
import { SecretRefusedError } from './secret-sinks.js';

export type SetSecretResult =
  | { readonly kind: 'set'; readonly secret: SecretRecord }
  /** `reason` completes "`value` …". */
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'limit_reached'; readonly limit: number }
  /** It cannot become one for runs while these, in words for a person, check senders with it. */
  | { readonly kind: 'in_use'; readonly by: readonly string[] }
  /** Names of this form are for webhooks. */
  | { readonly kind: 'reserved_name' };

/** Rolls back what a transaction has written that turned out to be one too many. */
class OneTooMany extends Error {}

class InUse extends Error {
  constructor(readonly by: readonly string[]) {
    super('The secret is in use.');
  }
}

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

  /** Creates it, or changes its value; what follows it follows in the same transaction. `purpose` null: it stays. */
  async set(
    teamUid: string,
    name: string,
    { value, purpose }: { readonly value: string; readonly purpose: SecretPurpose | null },
  ): Promise<SetSecretResult> {
    if (purpose === 'run' && name.startsWith(WEBHOOK_SECRET_PREFIX)) return { kind: 'reserved_name' };
    try {
      const secret = await this.database.transaction(async (tx) => {
        const put = await this.managed.putWithin(tx, { teamUid, name, value, purpose }, MAX_SECRETS_PER_TEAM);
        if (!put) throw new OneTooMany();
        const by = purpose === 'run' ? await this.managed.usedBy(tx, teamUid, name) : [];
        if (by.length > 0) throw new InUse(by);
        return put;
      });
      return { kind: 'set', secret };
    } catch (error) {
      if (error instanceof OneTooMany) return { kind: 'limit_reached', limit: MAX_SECRETS_PER_TEAM };
      if (error instanceof InUse) return { kind: 'in_use', by: error.by };
      if (error instanceof SecretRefusedError) return { kind: 'refused', reason: error.reason };
      throw error;
    }
  }

  delete(teamUid: string, name: string): Promise<RemoveSecretResult> {
    return this.database.transaction((tx) => this.managed.remove(tx, teamUid, name));
  }
}
