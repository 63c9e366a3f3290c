import type { RunnerEvent } from '#execution/runner-protocol';
import type { Transaction } from '#platform/persistence';
import { limitMessage } from '../domain/turn-outcome.js';
import type { RunUsage } from '../domain/run.js';
import type { Execution } from '../persistence/executions.store.js';
import type { NewRunEvent } from '../domain/run.js';
import type { LockedRun } from '../persistence/run-transitions.store.js';

export interface EventContext {
  readonly tx: Transaction;
  readonly run: LockedRun;
  /** As it was locked; replaced when an event of the batch has made it stop. */
  execution: Execution;
  readonly log: NewRunEvent[];
  /** The execution is in its debug window, maybe since an event of this batch. */
  isDebug: boolean;
  freedSlot: boolean;
}

/** Decisions that a runner makes itself; those of a person and of the clock are made by the server. */
const RUNNER_DECIDES: readonly unknown[] = ['policy', 'rule', 'cancel'];

/** The event as the log stores it; null: the server writes its own entry instead. */
export function toStored({ kind, data }: RunnerEvent): NewRunEvent | null {
  if (kind === 'setup_failed') return null;
  if (kind !== 'permission_decided') return { kind, data };
  // A runner cannot name a person as the one who decided.
  const { principal: _principal, ...decided } = data;
  return { kind, data: RUNNER_DECIDES.includes(data['by']) ? decided : { ...decided, by: 'policy' } };
}

export function textOf(data: object, key: string): string {
  const value = (data as Record<string, unknown>)[key];
  return typeof value === 'string' ? value : '';
}

export const messageOf = (data: object, key: string): string => limitMessage(textOf(data, key));

const USAGE_KEYS = ['input_tokens', 'output_tokens', 'total_tokens', 'cost_usd'] as const;

/** The valid figures of a turn; agents report any value. Bounded, so that the sum over all turns stays a JSON number. */
export function usageOf(data: object): RunUsage {
  const reported = data as Record<string, unknown>;
  return Object.fromEntries(
    USAGE_KEYS.flatMap((key) => {
      const value = reported[key];
      return typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER ? [[key, value]] : [];
    }),
  );
}
