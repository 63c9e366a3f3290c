import { Injectable } from '@nestjs/common';
import type { Queryable } from '#platform/persistence';
import {
  secretContext,
  type SecretPurpose,
  type SecretRecord,
  valueFault,
  WEBHOOK_SECRET_PREFIX,
} from '../domain/managed-secret.js';
import { ManagedSecretsStore } from '../persistence/managed-secrets.store.js';
import { SecretBox } from '../secret-box.js';
import { SecretRefusedError, SecretSinks } from './secret-sinks.js';

export type RemoveSecretResult =
  | { readonly kind: 'removed' }
  | { readonly kind: 'unknown' }
  /** In words for a person. */
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
 * Managed secrets for other rooms, within the caller's transaction. Whoever takes several locks takes the secret's first:
 * what uses it comes after it, and the team's count last.
 */
@Injectable()
export class ManagedSecrets {
  constructor(
    private readonly store: ManagedSecretsStore,
    private readonly box: SecretBox,
    private readonly sinks: SecretSinks,
  ) {}

  /**
   * Creates or changes one for webhooks, and tells every sink. The team's limit does not hold here: it is for people.
   * Throws a SecretRefusedError when something that uses it cannot use the value.
   */
  async put(
    tx: Queryable,
    secret: { readonly teamUid: string; readonly name: string; readonly value: string },
  ): Promise<{ version: number; created: boolean }> {
    const { version } = await this.write(tx, { ...secret, purpose: 'webhook' });
    const created = version === 1;
    if (created) await this.store.takePlace(tx, secret.teamUid, null);
    return { version, created };
  }

  /**
   * Creates or changes one for a person: null when it would be one more than `limit`; the transaction must not be committed
   * then. `purpose` null: it stays what it is; a new one is for runs, unless its name is one of webhooks' own.
   */
  async putWithin(tx: Queryable, secret: NewValue, limit: number): Promise<SecretRecord | null> {
    const isWebhooks = secret.name.startsWith(WEBHOOK_SECRET_PREFIX);
    const record = await this.write(tx, isWebhooks ? { ...secret, purpose: 'webhook' } : secret);
    return record.version > 1 || (await this.store.takePlace(tx, secret.teamUid, limit)) ? record : null;
  }

  /**
   * In clear; null also for one that is for webhooks. Nobody changes or deletes it until the transaction ends. Throws a
   * SealBrokenError.
   */
  async readForRun(tx: Queryable, teamUid: string, name: string): Promise<SecretValue | null> {
    return this.open(await this.store.shareForRun(tx, teamUid, name), teamUid, name);
  }

  /** {@link readForRun} for something that checks senders with it; {@link reserveForWebhook} before it does. */
  async readForWebhook(tx: Queryable, teamUid: string, name: string): Promise<SecretValue | null> {
    return this.open(await this.store.lockForWebhook(tx, teamUid, name), teamUid, name);
  }

  /** A webhook uses it from now on, so no run gets it any more. Its row must be locked by {@link readForWebhook}. */
  reserveForWebhook(tx: Queryable, teamUid: string, name: string): Promise<void> {
    return this.store.setPurpose(tx, teamUid, name, 'webhook');
  }

  /** The current versions of those that runs get, by name. */
  versionsForRuns(tx: Queryable, teamUid: string, names: readonly string[]): Promise<ReadonlyMap<string, number>> {
    return this.versionsOf(tx, teamUid, names, 'run');
  }

  /** The current versions of all of these, by name. */
  versions(tx: Queryable, teamUid: string, names: readonly string[]): Promise<ReadonlyMap<string, number>> {
    return this.versionsOf(tx, teamUid, names, null);
  }

  private async versionsOf(
    tx: Queryable,
    teamUid: string,
    names: readonly string[],
    purpose: SecretPurpose | null,
  ): Promise<ReadonlyMap<string, number>> {
    const rows = await this.store.versions(tx, teamUid, names, purpose);
    return new Map(rows.map(({ name, version }) => [name, version]));
  }

  private open(
    found: { readonly version: number; readonly sealed: string } | null,
    teamUid: string,
    name: string,
  ): SecretValue | null {
    return found && { version: found.version, value: this.box.open(found.sealed, secretContext(teamUid, name)) };
  }

  /** Which webhooks use it, in words for a person. */
  usedBy(tx: Queryable, teamUid: string, name: string): Promise<readonly string[]> {
    return this.sinks.usedBy(tx, teamUid, name);
  }

  /** Unless something uses it. */
  async remove(tx: Queryable, teamUid: string, name: string): Promise<RemoveSecretResult> {
    if (!(await this.store.lock(tx, teamUid, name))) return { kind: 'unknown' };
    const by = await this.usedBy(tx, teamUid, name);
    if (by.length > 0) return { kind: 'in_use', by };
    await this.store.delete(tx, teamUid, name);
    await this.store.givePlaceBack(tx, teamUid);
    return { kind: 'removed' };
  }

  private async write(tx: Queryable, { teamUid, name, value, purpose }: NewValue): Promise<SecretRecord> {
    const fault = valueFault(value);
    if (fault !== null) throw new SecretRefusedError(fault);
    const sealed = this.box.seal(value, secretContext(teamUid, name));
    const record = await this.store.put(tx, teamUid, name, { sealed, purpose });
    await this.sinks.changed(tx, { teamUid, name, version: record.version, value });
    return record;
  }
}
