import type { Issue } from '#platform/kernel';
import type { ConcurrencyPolicy, Metadata, RunSchedule, RunSourceType } from '#domain/runs';

/** A trigger as on the wire: provider, event, and the fields of the provider. */
export interface Trigger {
  readonly provider: string;
  readonly event: string;
  readonly [field: string]: unknown;
}

export interface TriggerEvent {
  readonly provider: string;
  readonly event: string;
  /** The object of the event; it reaches the triggers with the same subject. */
  readonly subject: string;
  /** Permanent key of the event, at most 200 characters: an automation starts one run for it. */
  readonly key: string;
  readonly factoryUid: string;
  readonly teamUid: string;
  readonly occurredAt: Date;
  readonly source: RunSourceType;
  /** Metadata of the runs, beside `automation_id` and `factory_uid`. */
  readonly labels: Metadata;
  /** Lines of the prompt, in this order; trusted text of the service. */
  readonly facts: readonly { readonly label: string; readonly value: string }[];
  /** Attached as `event-payload.json`, byte for byte as it was sent unless something was removed; null without a payload. */
  readonly payload: Buffer | null;
  /** What no agent may get, for people; absent: nothing was removed. */
  readonly removedFromPayload?: string;
  /** The payload as parsed JSON, parsed once; null without a payload. Never throws. */
  readPayload(): unknown;
  /** URL of the event for users; null: the URL of the automation. */
  readonly triggerUrl: string | null;
  readonly schedule: RunSchedule | null;
  /** What runs for the event work on; absent where events do not follow one another. */
  readonly target?: EventTarget;
  /** In which the event has happened, with the branch or tag that it is about; absent without one. */
  readonly repository?: { readonly url: string; readonly ref?: string };
  /** What the provider has read from the payload, for its own checks. */
  readonly details?: unknown;
}

/** The object of a conversation, such as a pull request. */
export interface EventTarget {
  /** The same for all events of the object, at most 400 characters. */
  readonly key: string;
  /** For people. */
  readonly name: string;
  /** What contains the object, such as a repository; the same fields. */
  readonly container: { readonly key: string; readonly name: string };
  /** Of its page; null when there is none. A run that has created it has an artifact with this address. */
  readonly url: string | null;
  /** What happens to the newest run for the object when the automation does not say it. Default: `allow`. */
  readonly defaultPolicy?: ConcurrencyPolicy;
}

/** One condition of a trigger; checks are listed in the order of their evaluation. */
export interface TriggerCheck {
  /** `enabled`, `webhook` and `payload` for webhooks; other providers have other names. */
  readonly check: string;
  readonly passed: boolean;
  /** One sentence with the clause and the value that decided the result. */
  readonly reason: string;
}

/** The reason of the failed check of a stored trigger whose filter is not valid any more. */
export function invalidFilterReason([issue]: readonly Issue[]): string {
  return `The stored filter cannot be evaluated: ${issue ? `${issue.pointer} ${issue.detail}` : 'it is invalid'}.`;
}
