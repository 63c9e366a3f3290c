import { Injectable } from '@nestjs/common';
import type { Trigger } from '../domain/trigger.js';
import type { TriggerProvider } from './trigger-provider.js';

/** All kinds of triggers that this installation knows. */
@Injectable()
export class TriggerProviders {
  private readonly providers = new Map<string, TriggerProvider>();

  /** Throws when the kind is registered already. */
  register(provider: TriggerProvider): void {
    const key = keyOf(provider);
    if (this.providers.has(key)) throw new Error(`The trigger ${key} is registered twice.`);
    this.providers.set(key, provider);
  }

  find(trigger: Pick<Trigger, 'provider' | 'event'>): TriggerProvider | undefined {
    return this.providers.get(keyOf(trigger));
  }

  /** In the order of their names. */
  all(): readonly TriggerProvider[] {
    return [...this.providers.entries()]
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([, provider]) => provider);
  }
}

const keyOf = ({ provider, event }: Pick<Trigger, 'provider' | 'event'>): string => `${provider}/${event}`;
