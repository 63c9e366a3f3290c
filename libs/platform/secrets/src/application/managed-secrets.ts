import { Injectable } from '@nestjs/common';
import { type AuditActor, AuditLog } from '#platform/audit';
import { Database, type Queryable } from '#platform/persistence';
import {
  brokenValueRule,
  MANAGED_SECRET,
  MAX_SECRETS_PER_TEAM,
  type SecretPurpose,
  type SecretRecord,
  WEBHOOK_SECRET_PREFIX,
} from '../domain/managed-secret.js';
import { ManagedSecretsStore, type StoredValue } from '../persistence/managed-secrets.store.js';
import { SecretBox } from '../secret-box.js';

export interface ChangedSecret {
  readonly teamUid: string;
  readonly name: string;
  readonly version: number;
  /** In clear. */
  readonly value: string;
}

/** Who gets the value of a secret, for the audit log. */
export interface SecretUse {
  readonly actor: AuditActor;
  /** For which run or repository. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** A new value of a secret that one of its users cannot use. */
export class SecretRejectedError extends Error {
  /** `reason` completes "`value` …", names what cannot use it, and never contains the value. */
  constructor(readonly reason: string) {
    super(`The value of a managed secret ${reason}.`);
    this.name = 'SecretRejectedError';
  }
}

/** Extension point for libraries that keep copies of managed secrets, or that prevent the deletion of a secret in use. */
export abstract class SecretChangeListener {
  /**
   * Called in the transaction that gives a secret a new value, with the secret's row locked; the listener updates its copies
   * in the same transaction. Throws a {@link SecretRejectedError} when the value cannot be used; the transaction is then
   * rolled back.
   */
  abstract changed(tx: Queryable, secret: ChangedSecret): Promise<void>;
  /** What uses the secret and so prevents its deletion, for people: `webhook deploys (uid …)`. */
  abstract usedBy(tx: Queryable, teamUid: string, name: string): Promise<readonly string[]>;
}

/** The listeners of this process. Every process that changes managed secrets must register all of them. */
@Injectable()
export class SecretChangeListeners {
  private readonly listeners: SecretChangeListener[] = [];

  register(listener: SecretChangeListener): void {
    this.listeners.push(listener);
  }

  /** Calls them one after the other: the transaction has one connection. */
  async changed(tx: Queryable, secret: ChangedSecret): Promise<void> {
    for (const listener of this.listeners) await listener.changed(tx, secret);
  }

  async usedBy(tx: Queryable, teamUid: string, name: string): Promise<readonly string[]> {
    const users: string[] = [];
    for (const listener of this.listeners) users.push(...(await listener.usedBy(tx, teamUid, name)));
    return users;
  }
}

export type DeleteSecretResult =
  | { readonly kind: 'deleted' }
  | { readonly kind: 'not_found' }
  /** `by`: its users, for people. */
  | { readonly kind: 'in_use'; readonly by: readonly string[] };

export type PutSecretResult =
  | { readonly kind: 'stored'; readonly secret: SecretRecord }
  /** `reason` completes "`value` …". */
  | { readonly kind: 'invalid_value'; readonly reason: string }
  | { readonly kind: 'limit_reached'; readonly limit: number }
  /** It cannot become a secret for runs: these webhooks, named for people, authenticate senders with it. */
  | { readonly kind: 'in_use'; readonly by: readonly string[] }
  /** Names of this form are for webhooks. */
  | { readonly kind: 'reserved_name' };

class Rollback extends Error {
  constructor(readonly result: PutSecretResult) {
    super('The transaction is rolled back.');
  }
}

interface NewValue {
  readonly teamUid: string;
  readonly name: string;
  readonly value: string;
  readonly purpose: SecretPurpose | null;
}
interface SecretValue {
  readonly version: number;
  readonly value: string;
}

/**
 * Managed secrets; methods with `tx` work in the caller's transaction. Order of locks: the secret first, then what uses it, the
 * team's count last.
 */
@Injectable()
export class ManagedSecrets {
  constructor(
    private readonly database: Database,
    private readonly store: ManagedSecretsStore,
    private readonly box: SecretBox,
    private readonly listeners: SecretChangeListeners,
    private readonly audit: AuditLog,
  ) {}

  /**
   * Creates or updates a secret for webhooks and calls every listener. The limit of the team does not apply: it is for
   * people. Throws a SecretRejectedError when a user of the secret cannot use the value.
   */
  async put(
    tx: Queryable,
    secret: { readonly teamUid: string; readonly name: string; readonly value: string },
  ): Promise<{ version: number; created: boolean }> {
    const { version } = await this.write(tx, { ...secret, purpose: 'webhook' });
    const created = version === 1;
    if (created) await this.store.countCreated(tx, secret.teamUid, null);
    return { version, created };
  }

  /**
   * Creates or updates a secret for a user, who has been authorized before; copies follow in the same transaction. `purpose`
   * null keeps the stored one; a new secret is for runs, unless its name is reserved for webhooks.
   */
  async putOfTeam(
    teamUid: string,
    name: string,
    { value, purpose }: Pick<NewValue, 'value' | 'purpose'>,
  ): Promise<PutSecretResult> {
    const isReserved = name.startsWith(WEBHOOK_SECRET_PREFIX);
    if (purpose === 'run' && isReserved) return { kind: 'reserved_name' };
    try {
      const secret = await this.database.transaction(async (tx) => {
        const record = await this.write(tx, { teamUid, name, value, purpose: isReserved ? 'webhook' : purpose });
        if (record.version === 1 && !(await this.store.countCreated(tx, teamUid, MAX_SECRETS_PER_TEAM)))
          throw new Rollback({ kind: 'limit_reached', limit: MAX_SECRETS_PER_TEAM });
        const by = purpose === 'run' ? await this.listeners.usedBy(tx, teamUid, name) : [];
        if (by.length > 0) throw new Rollback({ kind: 'in_use', by });
        return record;
      });
      return { kind: 'stored', secret };
    } catch (error) {
      if (error instanceof Rollback) return error.result;
      if (error instanceof SecretRejectedError) return { kind: 'invalid_value', reason: error.reason };
      throw error;
    }
  }

  list(teamUid: string): Promise<SecretRecord[]> {
    return this.store.list(teamUid);
  }

  /** Null also for a secret for webhooks. The row stays locked until the transaction ends. Throws a SealBrokenError. */
  async readForRun(tx: Queryable, teamUid: string, name: string): Promise<SecretValue | null> {
    return this.open(await this.store.shareForRun(tx, teamUid, name), teamUid, name);
  }

  /**
   * Enters in the audit log who gets the values. At the end of the transaction, since all entries of the team wait for it. One
   * round trip.
   */
  async recordUse(tx: Queryable, teamUid: string, names: Iterable<string>, use: SecretUse): Promise<void> {
    const entryOf = (name: string) => ({ action: 'secret.used', target: { type: 'secret', uid: name, name }, ...use });
    await Promise.all([...new Set(names)].map((name) => this.audit.append(teamUid, entryOf(name), tx)));
  }

  /** {@link readForRun} for a webhook; call {@link reserveForWebhook} before senders are authenticated with the value. */
  async readForWebhook(tx: Queryable, teamUid: string, name: string): Promise<SecretValue | null> {
    return this.open(await this.store.lockForWebhook(tx, teamUid, name), teamUid, name);
  }

  /** From now on a webhook uses it and no run receives it. {@link readForWebhook} must have locked its row. */
  reserveForWebhook(tx: Queryable, teamUid: string, name: string): Promise<void> {
    return this.store.setPurpose(tx, teamUid, name, 'webhook');
  }

  versionsForRuns(tx: Queryable, teamUid: string, names: readonly string[]): Promise<ReadonlyMap<string, number>> {
    return this.store.versions(tx, teamUid, names, 'run');
  }

  /** The current versions, by name, whatever the purpose of the secrets. */
  versions(tx: Queryable, teamUid: string, names: readonly string[]): Promise<ReadonlyMap<string, number>> {
    return this.store.versions(tx, teamUid, names, null);
  }

  deleteOfTeam(teamUid: string, name: string): Promise<DeleteSecretResult> {
    return this.database.transaction((tx) => this.delete(tx, teamUid, name));
  }

  async delete(tx: Queryable, teamUid: string, name: string): Promise<DeleteSecretResult> {
    if (!(await this.store.lock(tx, teamUid, name))) return { kind: 'not_found' };
    const by = await this.listeners.usedBy(tx, teamUid, name);
    if (by.length > 0) return { kind: 'in_use', by };
    await this.store.delete(tx, teamUid, name);
    await this.store.countDeleted(tx, teamUid);
    return { kind: 'deleted' };
  }

  private open(stored: StoredValue | null, teamUid: string, name: string): SecretValue | null {
    if (!stored) return null;
    const value = this.box.openColumn(MANAGED_SECRET, { team_uid: teamUid, name }, stored.sealed);
    return { version: stored.version, value };
  }

  private async write(tx: Queryable, { teamUid, name, value, purpose }: NewValue): Promise<SecretRecord> {
    const rule = brokenValueRule(value);
    if (rule !== null) throw new SecretRejectedError(rule);
    const sealed = this.box.sealColumn(MANAGED_SECRET, { team_uid: teamUid, name }, value);
    const record = await this.store.put(tx, teamUid, name, { sealed, purpose });
    await this.listeners.changed(tx, { teamUid, name, version: record.version, value });
    return record;
  }
}
