import type { Metadata, RunSchedule, RunSourceType } from '#domain/runs';

/** What starts an automation, as on the wire: a provider's own fields beside its name and its event. */
export interface Trigger {
  readonly provider: string;
  readonly event: string;
  readonly [field: string]: unknown;
}

/** Something that happened and may start runs. */
export interface TriggerEvent {
  readonly provider: string;
  readonly event: string;
  /** What it happened to; reaches the triggers whose provider names the same subject for them. */
  readonly subject: string;
  /** Names this event for ever, at most 200 characters: an automation is started by it once. */
  readonly key: string;
  readonly factoryUid: string;
  readonly teamUid: string;
  readonly occurredAt: Date;
  /** How the runs are listed. */
  readonly source: RunSourceType;
  /** Labels of the runs, beside `automation_id` and `factory_uid`. */
  readonly labels: Metadata;
  /** What the envelope names, in this order; trusted text of ours, a line each. */
  readonly facts: readonly { readonly label: string; readonly value: string }[];
  /** Attached byte for byte as `event-payload.json`; null: the event has none. */
  readonly payload: Buffer | null;
  /** The payload as JSON.parse gives it, read once; null without one. Never throws. */
  readPayload(): unknown;
  /** Where people read what happened; null: at the automation, which has the schedule. */
  readonly triggerUrl: string | null;
  readonly schedule: RunSchedule | null;
}

/** One thing that had to hold; the checks of a trigger come in the order in which they are made. */
export interface TriggerCheck {
  /** `enabled`, `webhook` and `payload` of webhooks; other providers have names of their own. */
  readonly check: string;
  readonly passed: boolean;
  /** One sentence for people: the clause and the value that decided it. */
  readonly reason: string;
}
