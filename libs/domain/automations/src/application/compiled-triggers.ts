import { Injectable } from '@nestjs/common';
import type { ReachedTrigger } from '../persistence/firing.store.js';
import type { CompiledTrigger } from './trigger-provider.js';
import { TriggerProviders } from './trigger-providers.js';

const MAX_COMPILED = 10_000;

/** Triggers as they were understood last; a version of an automation never changes. */
@Injectable()
export class CompiledTriggers {
  private readonly known = new Map<string, { readonly version: string; readonly compiled: CompiledTrigger }>();

  constructor(private readonly providers: TriggerProviders) {}

  of({ automationId, position, version, trigger }: ReachedTrigger): CompiledTrigger {
    const key = `${automationId}/${position}`;
    const known = this.known.get(key);
    if (known?.version === version) return known.compiled;
    const compiled = this.providers.find(trigger)?.compile(trigger) ?? UNKNOWN;
    if (this.known.size >= MAX_COMPILED) this.known.clear();
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
