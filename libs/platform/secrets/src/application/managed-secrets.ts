import { Injectable } from '@nestjs/common';
import type { Queryable } from '#platform/persistence';
import {
  brokenValueRule,
  MANAGED_SECRET,
  type SecretPurpose,
  type SecretRecord,
  WEBHOOK_SECRET_PREFIX,
} from '../domain/managed-secret.js';
import { ManagedSecretsStore, type StoredValue } from '../persistence/managed-secrets.store.js';
import { SecretBox } from '../secret-box.js';
import { SecretChangeListeners, SecretRejectedError } from './secret-change-listeners.js';

export type DeleteSecretResult =
  | { readonly kind: 'deleted' }
  | { readonly kind: 'not_found' }
  /** `by`: its users, for people. */
  | { readonly kind: 'in_use'; readonly by: readonly string[] };

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
 * Managed secrets for other libraries, in the caller's transaction. Order of locks: the secret first, then what uses it, the
 * team's count last.
 */
@Injectable()
export class ManagedSecrets {
  constructor(
    private readonly store: ManagedSecretsStore,
    private readonly box: SecretBox,
    private readonly listeners: SecretChangeListeners,
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
   * Creates or updates a secret for a person. Null: the team has `limit` secrets already, and the transaction must be rolled
   * back. `purpose` null keeps the stored one; a new secret is for runs, unless its name is reserved for webhooks.
   */
  async putWithin(tx: Queryable, secret: NewValue, limit: number): Promise<SecretRecord | null> {
    const isReserved = secret.name.startsWith(WEBHOOK_SECRET_PREFIX);
    const record = await this.write(tx, isReserved ? { ...secret, purpose: 'webhook' } : secret);
    return record.version > 1 || (await this.store.countCreated(tx, secret.teamUid, limit)) ? record : null;
  }

  /**
   * The value in clear; null also for a secret for webhooks. Nobody can change or delete it until the transaction ends.
   * Throws a SealBrokenError.
   */
  async readForRun(tx: Queryable, teamUid: string, name: string): Promise<SecretValue | null> {
    return this.open(await this.store.shareForRun(tx, teamUid, name), teamUid, name);
  }

  /** {@link readForRun} for a webhook; call {@link reserveForWebhook} before senders are authenticated with the value. */
  async readForWebhook(tx: Queryable, teamUid: string, name: string): Promise<SecretValue | null> {
    return this.open(await this.store.lockForWebhook(tx, teamUid, name), teamUid, name);
  }

  /** From now on a webhook uses it and no run receives it. {@link readForWebhook} must have locked its row. */
  reserveForWebhook(tx: Queryable, teamUid: string, name: string): Promise<void> {
    return this.store.setPurpose(tx, teamUid, name, 'webhook');
  }

  /** The current versions, by name, of those secrets that runs receive. */
  versionsForRuns(tx: Queryable, teamUid: string, names: readonly string[]): Promise<ReadonlyMap<string, number>> {
    return this.store.versions(tx, teamUid, names, 'run');
  }

  /** The current versions, by name, whatever the purpose of the secrets. */
  versions(tx: Queryable, teamUid: string, names: readonly string[]): Promise<ReadonlyMap<string, number>> {
    return this.store.versions(tx, teamUid, names, null);
  }

  /** What uses the secret, for people. */
  usedBy(tx: Queryable, teamUid: string, name: string): Promise<readonly string[]> {
    return this.listeners.usedBy(tx, teamUid, name);
  }

  /** Deletes it unless something uses it. */
  async delete(tx: Queryable, teamUid: string, name: string): Promise<DeleteSecretResult> {
    if (!(await this.store.lock(tx, teamUid, name))) return { kind: 'not_found' };
    const by = await this.usedBy(tx, teamUid, name);
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
