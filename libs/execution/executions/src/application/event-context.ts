import type { Queryable } from '#platform/persistence';
import type { RunnerEvent } from '#execution/runner-protocol';
import type { RunUsage } from '../domain/run.js';
import type { Execution } from '../persistence/executions.store.js';
import type { NewRunEvent } from '../persistence/run-log.store.js';
import type { LockedRun } from '../persistence/run-moves.js';

/** What the effects of one batch share. */
export interface EventContext {
  readonly tx: Queryable;
  readonly run: LockedRun;
  /** As it is after the events before; another one when an event has told it to stop. */
  execution: Execution;
  readonly log: NewRunEvent[];
  /** The execution is in its debug window, maybe since an event of this batch. */
  isDebug: boolean;
  freedSlot: boolean;
}

/** What a runner may decide by itself; the word of a person or the clock is the server's. */
const RUNNER_DECIDES: readonly unknown[] = ['policy', 'rule', 'cancel'];

/** Null for what the log keeps in the server's own words. */
export function toStored({ kind, data }: RunnerEvent): NewRunEvent | null {
  if (kind === 'setup_failed') return null;
  if (kind !== 'permission_decided') return { kind, data };
  const { principal: _notItsOwn, ...decided } = data;
  return { kind, data: RUNNER_DECIDES.includes(data['by']) ? decided : { ...decided, by: 'policy' } };
}

export function textOf(data: object, key: string): string {
  const value = (data as Record<string, unknown>)[key];
  return typeof value === 'string' ? value : '';
}

/** The sum over all turns of a run stays a number that JSON can say. */
const MAX_FIGURE = Number.MAX_SAFE_INTEGER;
const USAGE_KEYS = ['input_tokens', 'output_tokens', 'total_tokens', 'cost_usd'] as const;

/** The figures of a turn that make sense; agents send what they like. */
export function usageOf(data: object): RunUsage {
  const told = data as Record<string, unknown>;
  return Object.fromEntries(
    USAGE_KEYS.flatMap((key) => {
      const value = told[key];
      return typeof value === 'number' && value >= 0 && value <= MAX_FIGURE ? [[key, value]] : [];
    }),
  );
}
