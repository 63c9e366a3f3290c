import type { Queryable } from '#platform/persistence';
import { ExtensionPoint, type Issue, type RejectionOf } from '#platform/kernel';
import type { Trigger, TriggerCheck, TriggerEvent } from '../domain/trigger.js';

export interface TriggerScope {
  readonly factoryUid: string;
  readonly teamUid: string;
}

/** A parsed trigger, which is evaluated for many events. Pure. */
export interface CompiledTrigger {
  /** All checks, also after a failed one. The trigger matches when all have passed. */
  check(event: TriggerEvent): readonly TriggerCheck[];
}

export type TriggerSample =
  | { readonly kind: 'delivery'; readonly deliveryId: string }
  | { readonly kind: 'payload'; readonly payload: unknown };

export type SampledEvent =
  | { readonly kind: 'event'; readonly event: TriggerEvent }
  /** The pointers are into the request: `/delivery_id`, `/payload`. */
  | RejectionOf<'invalid'>;

/**
 * Extension point: a kind of event that starts automations. The source of the event passes it to `FireAutomations`; the
 * provider decides which triggers it reaches, and whether they match.
 */
@ExtensionPoint(['api'])
export abstract class TriggerProvider {
  /** The `provider` of a trigger: lower case letters, digits, underscores. */
  abstract readonly provider: string;
  abstract readonly event: string;
  /** JSON Schema (2020-12) of a trigger's fields beside `provider` and `event`: `properties` and `required`. */
  abstract readonly schema: {
    readonly properties: Readonly<Record<string, object>>;
    readonly required: readonly string[];
  };
  /**
   * The issues of each trigger of this provider, by its index: shape and references, not the current state of what they
   * refer to. At most one round trip.
   */
  abstract validate(
    tx: Queryable,
    scope: TriggerScope,
    triggers: readonly Trigger[],
  ): Promise<readonly (readonly Issue[])[]>;
  /** The subject of a valid trigger, at most 200 characters: events of other subjects do not reach it. */
  abstract subjectOf(trigger: Trigger): string;
  /**
   * Called when an automation with at least one trigger of the provider is saved in `tx`, for providers that observe only
   * known subjects. Must not affect other automations.
   */
  async subscribe(_tx: Queryable, _scope: TriggerScope, _triggers: readonly Trigger[]): Promise<void> {
    // Most providers observe all events.
  }
  /** Never throws: a trigger that cannot be evaluated has a failed check. */
  abstract compile(trigger: Trigger): CompiledTrigger;
  /** Why a stored trigger can never fire, by its index; undefined when it can. At most one round trip. */
  obstacles(
    _tx: Queryable,
    _scope: TriggerScope,
    triggers: readonly Trigger[],
  ): Promise<readonly (TriggerObstacle | undefined)[]> {
    return Promise.resolve(triggers.map(() => undefined));
  }
  abstract sample(tx: Queryable, scope: TriggerScope, trigger: Trigger, sample: TriggerSample): Promise<SampledEvent>;
}

export interface TriggerObstacle {
  readonly code: string;
  readonly detail: string;
}
