import type { Queryable } from '#platform/persistence';
import type { Trigger, TriggerCheck, TriggerEvent, TriggerIssue } from '../domain/trigger.js';

export interface TriggerScope {
  readonly factoryUid: string;
  readonly teamUid: string;
}

/** A trigger that was understood once and is asked about many events. Pure. */
export interface CompiledTrigger {
  /** All checks, also after one that failed. The trigger fires when all have passed. */
  check(event: TriggerEvent): readonly TriggerCheck[];
}

/** What a trigger is to be tried on: a stored delivery, or a payload that somebody pasted. */
export type TriggerSample =
  { readonly kind: 'delivery'; readonly deliveryId: string } | { readonly kind: 'payload'; readonly payload: unknown };

export type SampledEvent =
  | { readonly kind: 'event'; readonly event: TriggerEvent }
  /** The pointer is into the request: `/delivery_id`, `/payload`. */
  | { readonly kind: 'invalid'; readonly pointer: string; readonly detail: string };

/**
 * Plug: one kind of event that starts automations. Registered with `TriggerProviders`. Whoever notices the event tells
 * `FireAutomations`; the provider says which triggers it concerns, and whether they fire.
 */
export abstract class TriggerProvider {
  /** As in a trigger's `provider`: lower case, digits, underscores. */
  abstract readonly provider: string;
  /** As in a trigger's `event`. */
  abstract readonly event: string;
  /** JSON Schema (2020-12) of a trigger's fields beside `provider` and `event`: `properties` and `required`. */
  abstract readonly schema: TriggerSchema;
  /**
   * What is wrong with each of these triggers, whose `provider` and `event` are this one's, by their place in the array:
   * shape and references. Not about whether what they refer to works at the moment. At most one round trip.
   */
  abstract validate(
    tx: Queryable,
    scope: TriggerScope,
    triggers: readonly Trigger[],
  ): Promise<readonly (readonly TriggerIssue[])[]>;
  /** What a valid trigger listens to, at most 200 characters. */
  abstract subjectOf(trigger: Trigger): string;
  /**
   * An automation with these triggers of the provider, at least one, is being saved in `tx`: for providers that have to be
   * told what to notice. What other automations need is left alone.
   */
  async subscribe(_tx: Queryable, _scope: TriggerScope, _triggers: readonly Trigger[]): Promise<void> {
    // Most notice everything, and ask who listens.
  }
  /** Never throws: what cannot be evaluated does not match, with a check that says so. */
  abstract compile(trigger: Trigger): CompiledTrigger;
  /** Why a stored trigger cannot fire at all, by its place; undefined where it can. At most one round trip. */
  abstract obstacles(
    tx: Queryable,
    scope: TriggerScope,
    triggers: readonly Trigger[],
  ): Promise<readonly (TriggerObstacle | undefined)[]>;
  /** The event that a test of `trigger` is about. */
  abstract sample(tx: Queryable, scope: TriggerScope, trigger: Trigger, sample: TriggerSample): Promise<SampledEvent>;
}

export interface TriggerSchema {
  readonly properties: Readonly<Record<string, object>>;
  readonly required: readonly string[];
}

export interface TriggerObstacle {
  /** `webhook_deleted` and the like. */
  readonly code: string;
  readonly detail: string;
}
