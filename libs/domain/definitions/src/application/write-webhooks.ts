import { Injectable } from '@nestjs/common';
import type { Queryable } from '#platform/persistence';
import { DefinedWebhooks } from '#domain/webhooks';
import type { PlanAction } from '../domain/definition.js';
import type { Applying } from './applying.js';
import { limitReached } from './limit-rules.js';
import { RefusedError } from './refused-error.js';

@Injectable()
export class WriteWebhooks {
  constructor(private readonly webhooks: DefinedWebhooks) {}

  /** Deletes before it creates, because of the limit. Returns the uids of the created webhooks, by name. */
  async execute(tx: Queryable, applying: Applying): Promise<ReadonlyMap<string, string>> {
    const { factory, desired, plan } = applying;
    const of = (action: PlanAction) => plan.filter((entry) => entry.kind === 'webhook' && entry.action === action);
    for (const { uid } of of('delete')) if (uid !== null) await this.webhooks.delete(tx, factory, uid);
    for (const { name, uid } of of('update')) {
      const spec = desired.webhooks.get(name);
      if (spec && uid !== null) await this.webhooks.replace(tx, factory, uid, spec);
    }
    const made = new Map<string, string>();
    for (const { name } of of('create')) {
      const spec = desired.webhooks.get(name);
      if (!spec) continue;
      const result = await this.webhooks.create(tx, factory, spec);
      if (result.kind === 'limit_reached') throw new RefusedError([limitReached(applying, 'webhook', name)]);
      made.set(name, result.uid);
    }
    return made;
  }
}
