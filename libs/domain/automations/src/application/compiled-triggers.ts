import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { ReachedTrigger } from '../persistence/firing.store.js';
import type { CompiledTrigger } from './trigger-provider.js';
import { TriggerProviders } from './trigger-providers.js';

const MAX_COMPILED = 10_000;

/** Compiled triggers by automation and position; a version of an automation never changes. */
@Injectable()
export class CompiledTriggers {
  private readonly known = new LRUCache<string, { readonly version: string; readonly compiled: CompiledTrigger }>({
    max: MAX_COMPILED,
  });

  constructor(private readonly providers: TriggerProviders) {}

  of({ automationId, position, version, trigger }: ReachedTrigger): CompiledTrigger {
    const key = `${automationId}/${position}`;
    const known = this.known.get(key);
    if (known?.version === version) return known.compiled;
    const compiled = this.providers.find(trigger)?.compile(trigger) ?? UNKNOWN;
    this.known.set(key, { version, compiled });
    return compiled;
  }
}

/** Of a provider that this process does not have. */
const UNKNOWN: CompiledTrigger = {
  check: () => [
    { check: 'provider', passed: false, reason: 'This installation does not know the kind of the trigger.' },
  ],
};
