import type { StatusMessage } from './run.js';

/** Transition of an external run in progress when its execution ends. Only the caller who registered it could execute it again. */
export type ExternalConsequence =
  | { readonly transition: 'requeue'; readonly status: null }
  | { readonly transition: 'cancel' | 'give_up'; readonly status: StatusMessage };

/** `isLost`: nobody heard of it any more. `hasMore`: its session had ended its turn, and a message waits. */
export interface ExternalEnding {
  readonly reason: string;
  readonly isLost: boolean;
  readonly hasMore: boolean;
}

export function afterExternal({ reason, isLost, hasMore }: ExternalEnding): ExternalConsequence {
  if (reason === 'cancelled')
    return { transition: 'cancel', status: { message: 'Cancelled where it was executed.', retryable: false } };
  if (hasMore) return { transition: 'requeue', status: null };
  const message = isLost
    ? 'The machine that executed the run went silent.'
    : 'The execution ended while the run was in progress.';
  return { transition: 'give_up', status: { message, error_code: 'infrastructure_timeout', retryable: true } };
}
