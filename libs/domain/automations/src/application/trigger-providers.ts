import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { type Issue, pointerOf, type RejectionOf } from '#platform/kernel';
import type { Queryable } from '#platform/persistence';
import { extensionsOf } from '#platform/plugins';
import { isObject } from '../domain/payload-filter/filter.js';
import type { Trigger } from '../domain/trigger.js';
import { type TriggerObstacle, TriggerProvider, type TriggerScope } from './trigger-provider.js';

const UNKNOWN_PROVIDER: TriggerObstacle = {
  code: 'unknown_provider',
  detail: 'This installation does not know the kind of the trigger; it never fires.',
};

type Parsed =
  | { readonly kind: 'parsed'; readonly provider: TriggerProvider; readonly trigger: Trigger }
  | RejectionOf<'invalid'>;

@Injectable()
export class TriggerProviders implements OnModuleInit {
  private readonly providers = new Map<string, TriggerProvider>();

  constructor(private readonly discovery: DiscoveryService) {}

  onModuleInit(): void {
    for (const provider of extensionsOf(this.discovery, TriggerProvider)) this.register(provider);
  }

  register(provider: TriggerProvider): void {
    const key = keyOf(provider);
    const other = this.providers.get(key);
    if (other)
      throw new Error(
        `The trigger ${key} has two providers, ${other.constructor.name} and ${provider.constructor.name}: remove one.`,
      );
    this.providers.set(key, provider);
  }

  find(trigger: Pick<Trigger, 'provider' | 'event'>): TriggerProvider | undefined {
    return this.providers.get(keyOf(trigger));
  }

  all(): readonly TriggerProvider[] {
    return [...this.providers.entries()]
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([, provider]) => provider);
  }

  /** The issues of each, by its index; one without issues is a {@link Trigger}. At most one round trip for each provider. */
  async validate(
    queryable: Queryable,
    scope: TriggerScope,
    raw: readonly unknown[],
  ): Promise<readonly (readonly Issue[])[]> {
    const parsed = raw.map((trigger) => this.parse(trigger));
    const issues: (readonly Issue[])[] = parsed.map((one) => (one.kind === 'invalid' ? one.issues : []));
    for (const provider of this.all()) {
      const own = parsed.flatMap((one, index) =>
        one.kind === 'parsed' && one.provider === provider ? [{ index, trigger: one.trigger }] : [],
      );
      if (own.length === 0) continue;
      const triggers = own.map(({ trigger }) => trigger);
      const found = await provider.validate(queryable, scope, triggers);
      for (const [position, { index }] of own.entries()) issues[index] = found[position] ?? [];
    }
    return issues;
  }

  /** Why stored triggers cannot fire; triggers that can are omitted. At most one round trip for each provider. */
  async obstacles(
    queryable: Queryable,
    scope: TriggerScope,
    triggers: readonly Trigger[],
  ): Promise<ReadonlyMap<Trigger, TriggerObstacle>> {
    const found = new Map<Trigger, TriggerObstacle>();
    for (const trigger of triggers) if (!this.find(trigger)) found.set(trigger, UNKNOWN_PROVIDER);
    for (const provider of this.all()) {
      const own = triggers.filter((trigger) => this.find(trigger) === provider);
      const obstacles = own.length === 0 ? [] : await provider.obstacles(queryable, scope, own);
      for (const [index, trigger] of own.entries()) {
        const obstacle = obstacles[index];
        if (obstacle) found.set(trigger, obstacle);
      }
    }
    return found;
  }

  private parse(raw: unknown): Parsed {
    if (!isObject(raw)) return invalid('', 'must be an object');
    const { provider: name, event } = raw;
    if (typeof name !== 'string') return invalid('/provider', name === undefined ? 'is required' : 'must be a string');
    const ofName = this.all().filter(({ provider }) => provider === name);
    if (ofName.length === 0) {
      const known = new Set(this.all().map(({ provider }) => provider));
      return invalid('/provider', `must be one of ${[...known].join(', ')}`);
    }
    if (typeof event !== 'string') return invalid('/event', event === undefined ? 'is required' : 'must be a string');
    const provider = ofName.find((one) => one.event === event);
    if (!provider)
      return invalid('/event', `must be one of ${ofName.map((one) => one.event).join(', ')} for the provider ${name}`);
    const issues = fieldIssues(provider, raw);
    return issues.length > 0
      ? { kind: 'invalid', issues }
      : { kind: 'parsed', provider, trigger: { ...raw, provider: name, event } };
  }
}

const keyOf = ({ provider, event }: Pick<Trigger, 'provider' | 'event'>): string => `${provider}/${event}`;

const invalid = (pointer: string, detail: string): Parsed => ({ kind: 'invalid', issues: [{ pointer, detail }] });

function fieldIssues({ schema }: TriggerProvider, given: Readonly<Record<string, unknown>>): Issue[] {
  const known = ['provider', 'event', ...Object.keys(schema.properties)];
  const unknown = Object.keys(given).filter((key) => !known.includes(key));
  const missing = schema.required.filter((key) => !Object.hasOwn(given, key));
  return [
    ...unknown.map((key) => ({
      pointer: pointerOf(key),
      detail: `is not a known field: a trigger of this provider has ${known.join(', ')}`,
    })),
    ...missing.map((key) => ({ pointer: `/${key}`, detail: 'is required' })),
  ];
}
