import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { ExtensionPoint } from '#platform/kernel';
import { type Queryable, statement } from '#platform/persistence';
import { extensionsOf } from '#platform/plugins';
import type { ApprovalKind, RunEventKind } from '#execution/runner-protocol';
import type { NewRunEvent } from '../domain/run.js';
import type { RunState } from '../domain/run-state.js';

const APPEND = statement('run-log.append')`WITH head AS (
  INSERT INTO run_heads AS h (run_id, last_seq) VALUES ($1, 1 + $3::int)
  ON CONFLICT (run_id) DO UPDATE SET last_seq = h.last_seq + $3::int RETURNING last_seq
)
INSERT INTO run_events (run_id, seq, execution_id, kind, at, data)
SELECT $1, head.last_seq - $3::int + e.ord, $2::bigint, e.kind, headrace.now(), e.data::jsonb
  FROM head, unnest($4::text[], $5::text[]) WITH ORDINALITY AS e (kind, data, ord)`;

/** Log entries by which a run comes to rest, and the state that it has then. */
const RESTING: Readonly<Partial<Record<RunEventKind, RunState>>> = {
  run_done: 'SUCCEEDED',
  run_failed: 'FAILED',
  run_errored: 'ERROR',
  run_cancelled: 'CANCELLED',
  run_blocked: 'BLOCKED',
};

export interface RunChange {
  readonly state: RunState;
  /** BLOCKED: the question that it waits for; one more may come while it waits. `expires_at`: RFC 3339. */
  readonly approval?: {
    readonly approval_id: string;
    /** Absent: a permission request. */
    readonly kind?: ApprovalKind;
    /** Of a question: its text. */
    readonly title: string;
    readonly expires_at: string;
  };
}

/**
 * Extension point: must not miss that a run has ended or waits for a person. Called within the transaction that changes the
 * state of the run, which fails when this does, in the API and in the processor.
 */
@ExtensionPoint(['api', 'processor'])
export abstract class RunStateListener {
  /** `changes` in their order. */
  abstract record(tx: Queryable, runId: string, changes: readonly RunChange[]): Promise<void>;
}

/** All listeners of the process. Without one, a change costs nothing. */
@Injectable()
export class RunStateListeners implements OnModuleInit {
  private registered: readonly RunStateListener[] = [];

  constructor(private readonly discovery: DiscoveryService) {}

  onModuleInit(): void {
    this.registered = extensionsOf(this.discovery, RunStateListener);
  }

  async logged(tx: Queryable, runId: string, events: readonly NewRunEvent[]): Promise<void> {
    if (this.registered.length === 0) return;
    const changes = events.flatMap(({ kind, data }): RunChange[] => {
      const state = RESTING[kind];
      if (state === undefined) return [];
      return [state === 'BLOCKED' ? { state, approval: data as NonNullable<RunChange['approval']> } : { state }];
    });
    if (changes.length === 0) return;
    await Promise.all(this.registered.map((listener) => listener.record(tx, runId, changes)));
  }
}

/** The append-only log of run events. Sequence 1 is `run_created`, written with the run; a head row counts on from there. */
@Injectable()
export class RunLogStore {
  constructor(private readonly listeners: RunStateListeners) {}

  async append(
    tx: Queryable,
    runId: string,
    executionId: string | null,
    events: readonly NewRunEvent[],
  ): Promise<void> {
    if (events.length === 0) return;
    await Promise.all([
      tx.query(APPEND, [
        runId,
        executionId,
        events.length,
        events.map((event) => event.kind),
        events.map((event) => JSON.stringify(event.data)),
      ]),
      this.listeners.logged(tx, runId, events),
    ]);
  }
}
