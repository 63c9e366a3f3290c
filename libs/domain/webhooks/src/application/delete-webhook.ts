import { Injectable } from '@nestjs/common';
import type { Factory } from '#domain/factories';
import { Database, type Queryable } from '#platform/persistence';
import { ManagedSecrets, SealBrokenError } from '#platform/secrets';
import { WebhookPlaces } from '../persistence/webhook-places.js';
import { WebhooksStore } from '../persistence/webhooks.store.js';
import type { DeleteWebhookResult } from './webhook-outcomes.js';

type Deletion = { readonly kind: 'unknown' } | { readonly kind: 'deleted'; readonly secretToRemove: string | null };

/** Senders get 404 from the commit on. The log stays until it has expired. */
@Injectable()
export class DeleteWebhook {
  constructor(
    private readonly database: Database,
    private readonly store: WebhooksStore,
    private readonly places: WebhookPlaces,
    private readonly managed: ManagedSecrets,
  ) {}

  async execute(factory: Factory, uid: string): Promise<DeleteWebhookResult> {
    const deletion = await this.database.transaction((tx) => this.remove(tx, factory, uid));
    if (deletion.kind === 'unknown') return deletion;
    const { secretToRemove: name } = deletion;
    if (name !== null) await this.database.transaction((tx) => this.managed.delete(tx, factory.teamUid, name));
    return { kind: 'deleted' };
  }

  private async remove(tx: Queryable, { uid: factoryUid, teamUid }: Factory, uid: string): Promise<Deletion> {
    await this.places.lock(tx, factoryUid);
    const found = await this.store.find(factoryUid, uid, tx);
    if (!found) return { kind: 'unknown' };
    const { secretName, secretOwned } = found;
    // Secret before webhook, as everybody does who takes both.
    const isHeld = secretOwned && (await this.hold(tx, teamUid, secretName));
    if (!(await this.store.markDeleted(tx, factoryUid, uid))) return { kind: 'unknown' };
    await this.places.giveBack(tx, factoryUid);
    // In use by another webhook that was pointed at it, it stays for that one.
    if (isHeld) await this.managed.delete(tx, teamUid, secretName);
    // One that came into being since would be taken in the wrong order.
    return { kind: 'deleted', secretToRemove: secretOwned && !isHeld ? secretName : null };
  }

  /** Whether it is there; then nobody changes it until the transaction ends. */
  private async hold(tx: Queryable, teamUid: string, name: string): Promise<boolean> {
    try {
      return (await this.managed.readForWebhook(tx, teamUid, name)) !== null;
    } catch (error) {
      // What does not open can be deleted all the same.
      if (error instanceof SealBrokenError) return true;
      throw error;
    }
  }
}
