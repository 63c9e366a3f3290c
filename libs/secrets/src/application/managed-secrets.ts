import { Injectable } from '@nestjs/common';
import type { Queryable } from '#libs/persistence';
import { secretContext, type SecretRecord, valueFault } from '../domain/managed-secret.js';
import { ManagedSecretsStore } from '../persistence/managed-secrets.store.js';
import { SecretBox } from '../secret-box.js';
import { SecretRefusedError, SecretSinks } from './secret-sinks.js';

export type RemoveSecretResult =
  | { readonly kind: 'removed' }
  | { readonly kind: 'unknown' }
  /** In words for a person. */
  | { readonly kind: 'in_use'; readonly by: readonly string[] };

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
   * Makes it or gives it another value, and tells every sink. The team's limit does not hold here: it is for people.
   * Throws a SecretRefusedError when something that uses it cannot use the value.
   */
  async put(
    tx: Queryable,
    secret: { readonly teamUid: string; readonly name: string; readonly value: string },
  ): Promise<{ version: number; created: boolean }> {
    const { version } = await this.write(tx, secret);
    const created = version === 1;
    if (created) await this.store.takePlace(tx, secret.teamUid, null);
    return { version, created };
  }

  /** {@link put} for a person: null when it would be one more than `limit`; the transaction must not be committed then. */
  async putWithin(
    tx: Queryable,
    secret: { readonly teamUid: string; readonly name: string; readonly value: string },
    limit: number,
  ): Promise<SecretRecord | null> {
    const record = await this.write(tx, secret);
    return record.version > 1 || (await this.store.takePlace(tx, secret.teamUid, limit)) ? record : null;
  }

  /** In clear. Nobody changes or deletes it until the transaction ends. Throws a SealBrokenError. */
  async read(tx: Queryable, teamUid: string, name: string): Promise<{ version: number; value: string } | null> {
    const found = await this.store.share(tx, teamUid, name);
    return found && { version: found.version, value: this.box.open(found.sealed, secretContext(teamUid, name)) };
  }

  /** The versions that they have now, by name; none for one that is not there. */
  async versions(tx: Queryable, teamUid: string, names: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const rows = await this.store.versions(tx, teamUid, names);
    return new Map(rows.map(({ name, version }) => [name, version]));
  }

  /** Unless something uses it. */
  async remove(tx: Queryable, teamUid: string, name: string): Promise<RemoveSecretResult> {
    if (!(await this.store.lock(tx, teamUid, name))) return { kind: 'unknown' };
    const by = await this.sinks.usedBy(tx, teamUid, name);
    if (by.length > 0) return { kind: 'in_use', by };
    await this.store.delete(tx, teamUid, name);
    await this.store.givePlaceBack(tx, teamUid);
    return { kind: 'removed' };
  }

  private async write(
    tx: Queryable,
    { teamUid, name, value }: { readonly teamUid: string; readonly name: string; readonly value: string },
  ): Promise<SecretRecord> {
    const fault = valueFault(value);
    if (fault !== null) throw new SecretRefusedError(fault);
    const record = await this.store.put(tx, teamUid, name, this.box.seal(value, secretContext(teamUid, name)));
    await this.sinks.changed(tx, { teamUid, name, version: record.version, value });
    return record;
  }
}
