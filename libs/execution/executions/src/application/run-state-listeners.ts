import { Injectable } from '@nestjs/common';
import type { Queryable } from '#platform/persistence';
import type { RunEventKind } from '#execution/runner-protocol';
import type { RunState } from '../domain/run-state.js';

/** Log entries by which a run comes to rest, and the state that it has then. */
const RESTING: Readonly<Partial<Record<RunEventKind, RunState>>> = {
  run_done: 'SUCCEEDED',
  run_failed: 'FAILED',
  run_errored: 'ERROR',
  run_cancelled: 'CANCELLED',
  run_blocked: 'BLOCKED',
};

/** A run has come to rest. */
export interface RunChange {
  readonly state: RunState;
  /** BLOCKED: the question that it waits for; one more may come while it waits. `expires_at`: RFC 3339. */
  readonly approval?: { readonly approval_id: string; readonly title: string; readonly expires_at: string };
}

/**
 * Extension point for libraries that must not miss that a run has ended or waits for a person. Registered with {@link RunStateListeners};
 * asked within the transaction that moves the run, which fails when this does.
 */
export abstract class RunStateListener {
  /** `changes` in their order. */
  abstract record(tx: Queryable, runId: string, changes: readonly RunChange[]): Promise<void>;
}

/** All registered listeners. Without one, a change costs nothing. */
@Injectable()
export class RunStateListeners {
  private readonly sinks = new Set<RunStateListener>();

  register(sink: RunStateListener): void {
    this.sinks.add(sink);
  }

  /** Called with everything that is written to a run's log. */
  async logged(
    tx: Queryable,
    runId: string,
    events: readonly { readonly kind: RunEventKind; readonly data: object }[],
  ): Promise<void> {
    if (this.sinks.size === 0) return;
    const changes = events.flatMap(({ kind, data }): RunChange[] => {
      const state = RESTING[kind];
      if (state === undefined) return [];
      return [state === 'BLOCKED' ? { state, approval: data as NonNullable<RunChange['approval']> } : { state }];
    });
    if (changes.length === 0) return;
    for (const sink of this.sinks) await sink.record(tx, runId, changes);
  }
}
