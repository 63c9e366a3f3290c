import type { RunEvent } from '#execution/runner-protocol';
import { ExtensionPoint } from '#platform/kernel';
import type { Step } from './conversation.js';

/** A projection as stored: its sequence number, and one JSON value for each top-level step. */
export interface StoredProjection<StepState = unknown> {
  seq: number;
  steps: StepState[];
}

export interface ConversationProjection<StepState = unknown> {
  /** Never throws, whatever the events contain. Events at or before `state.seq` change nothing. */
  add(events: readonly RunEvent[]): void;
  readonly state: StoredProjection<StepState>;
  /** Index of the first step that may differ from the stored ones. */
  readonly changedFrom: number;
  /** No turn is running: the state is worth storing. */
  readonly isSettled: boolean;
  render(): Step[];
}

/**
 * Extension point: a conversation format, which projects the log of a run to steps. Two extensions for one format prevent the
 * start. `libs/testing` has its conformance kit.
 */
@ExtensionPoint(['api', 'processor'])
export abstract class ConversationNormalizer {
  abstract readonly format: string;
  /** Increment it when the same log gives another state: states that older versions stored are then recomputed. */
  abstract readonly version: number;
  /** Continues from a stored state of this format and version; the projection takes ownership of it. */
  abstract open(stored: StoredProjection): ConversationProjection;
}
