import { Injectable } from '@nestjs/common';
import type { Queryable } from '#platform/persistence';
import type { Trigger } from '../domain/trigger.js';
import type { TriggerObstacle, TriggerScope } from './trigger-provider.js';
import { TriggerProviders } from './trigger-providers.js';

const UNKNOWN_PROVIDER: TriggerObstacle = {
  code: 'unknown_provider',
  detail: 'This installation does not know the kind of the trigger; it never fires.',
};

/** Why stored triggers cannot fire at all. */
@Injectable()
export class TriggerObstacles {
  constructor(private readonly providers: TriggerProviders) {}

  /** By the triggers themselves, those that can fire left out. A round trip a provider at most. */
  async of(
    queryable: Queryable,
    scope: TriggerScope,
    triggers: readonly Trigger[],
  ): Promise<ReadonlyMap<Trigger, TriggerObstacle>> {
    const found = new Map<Trigger, TriggerObstacle>();
    for (const trigger of triggers) if (!this.providers.find(trigger)) found.set(trigger, UNKNOWN_PROVIDER);
    for (const provider of this.providers.all()) {
      const own = triggers.filter((trigger) => this.providers.find(trigger) === provider);
      const obstacles = own.length === 0 ? [] : await provider.obstacles(queryable, scope, own);
      for (const [index, trigger] of own.entries()) {
        const obstacle = obstacles[index];
        if (obstacle) found.set(trigger, obstacle);
      }
    }
    return found;
  }
}
