import { Injectable } from '@nestjs/common';
import type { Queryable } from '#platform/persistence';
import { type Issue, pointerOf } from '#platform/kernel';
import type { Trigger } from '../domain/trigger.js';
import type { TriggerProvider, TriggerScope } from './trigger-provider.js';
import { TriggerProviders } from './trigger-providers.js';

type Sorting =
  | { readonly kind: 'of'; readonly provider: TriggerProvider; readonly trigger: Trigger }
  | { readonly kind: 'invalid'; readonly issues: readonly Issue[] };

/** Whether triggers are what their providers understand. */
@Injectable()
export class TriggerChecks {
  constructor(private readonly providers: TriggerProviders) {}

  /** What is wrong with each, by its place; one without issues is a {@link Trigger}. A round trip a provider at most. */
  async check(
    queryable: Queryable,
    scope: TriggerScope,
    raw: readonly unknown[],
  ): Promise<readonly (readonly Issue[])[]> {
    const sorted = raw.map((trigger) => this.sort(trigger));
    const issues: (readonly Issue[])[] = sorted.map((one) => (one.kind === 'invalid' ? one.issues : []));
    for (const provider of this.providers.all()) {
      const own = sorted.flatMap((one, place) =>
        one.kind === 'of' && one.provider === provider ? [{ place, trigger: one.trigger }] : [],
      );
      if (own.length === 0) continue;
      const found = await provider.validate(
        queryable,
        scope,
        own.map(({ trigger }) => trigger),
      );
      for (const [index, { place }] of own.entries()) issues[place] = found[index] ?? [];
    }
    return issues;
  }

  private sort(raw: unknown): Sorting {
    if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return issue('', 'must be an object');
    const given = raw as Readonly<Record<string, unknown>>;
    const { provider: name, event } = given;
    if (typeof name !== 'string') return issue('/provider', name === undefined ? 'is required' : 'must be a string');
    const ofName = this.providers.all().filter(({ provider }) => provider === name);
    if (ofName.length === 0) return issue('/provider', `must be one of ${this.known().join(', ')}`);
    if (typeof event !== 'string') return issue('/event', event === undefined ? 'is required' : 'must be a string');
    const provider = ofName.find((one) => one.event === event);
    if (!provider)
      return issue('/event', `must be one of ${ofName.map((one) => one.event).join(', ')} for the provider ${name}`);
    const issues = shapeIssues(provider, given);
    return issues.length > 0
      ? { kind: 'invalid', issues }
      : { kind: 'of', provider, trigger: { ...given, provider: name, event } };
  }

  private known(): string[] {
    return [...new Set(this.providers.all().map(({ provider }) => provider))];
  }
}

const issue = (pointer: string, detail: string): Sorting => ({ kind: 'invalid', issues: [{ pointer, detail }] });

const ALWAYS = ['provider', 'event'];

function shapeIssues({ schema }: TriggerProvider, given: Readonly<Record<string, unknown>>): Issue[] {
  const known = [...ALWAYS, ...Object.keys(schema.properties)];
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
