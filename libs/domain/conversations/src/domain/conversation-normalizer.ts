import type { RunEvent } from '#execution/runner-protocol';
import type { Step } from './conversation.js';

/** A fold as it is kept: how far it has come, and one JSON value for each top-level step. */
export interface StoredProjection<StepState = unknown> {
  seq: number;
  steps: StepState[];
}

/** One conversation being folded. */
export interface ConversationProjection<StepState = unknown> {
  /** Total: no event makes it throw. Events at or before `state.seq` change nothing. */
  add(events: readonly RunEvent[]): void;
  readonly state: StoredProjection<StepState>;
  /** Index of the first step that may differ from the stored ones it began with. */
  readonly changedFrom: number;
  /** No turn is going on: a good moment to store. */
  readonly isSettled: boolean;
  render(): Step[];
}

/**
 * The plug for a conversation format: makes the wire's steps of a run's log. Provide a class decorated with
 * `@NormalizesConversations()`; two for one format stop the start. The conformance kit in `libs/testing` says what it must do.
 */
export abstract class ConversationNormalizer {
  /** The conversation format that it reads. */
  abstract readonly format: string;
  /** Raise it when the same log gives another fold: what older versions stored is then folded anew. */
  abstract readonly version: number;
  /** Goes on from what this format and version stored; the value belongs to the projection from here. */
  abstract open(stored: StoredProjection): ConversationProjection;
}
