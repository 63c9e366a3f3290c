import type { RunState } from './run-state.js';

export type FollowupSession = 'open' | 'debug' | 'stopping' | 'none';
export type FollowupOutcome = 'queued_prompt' | 'live_session' | 'handoff_execution' | 'queue_pending';

/**
 * What is known of a run when a follow-up arrives.
 * `session`: `open` = an execution that takes prompts lives (working, waiting for a person, or idle after its turn);
 * `debug` = the one whose set-up failed lives, and its debug window is open; `stopping` = it lives but is being ended;
 * `none`.
 */
export interface FollowupSituation {
  readonly state: RunState;
  readonly session: FollowupSession;
  readonly hasConversation: boolean;
  readonly isMessageEmpty: boolean;
}

export type FollowupDecision =
  | { readonly outcome: FollowupOutcome }
  | { readonly refuse: 'empty_message' | 'nothing_to_continue' };

type Route = FollowupOutcome | 'continue';

/** Only a FAILED run has a debug window. `continue` = from the saved conversation, when there is one. */
const ROUTES: { readonly [S in RunState]: { readonly open: Route; readonly debug: Route; readonly closed: Route } } = {
  QUEUED: { open: 'queued_prompt', debug: 'queued_prompt', closed: 'queued_prompt' },
  PENDING: { open: 'queue_pending', debug: 'queue_pending', closed: 'queue_pending' },
  CLAIMED: { open: 'queue_pending', debug: 'queue_pending', closed: 'queue_pending' },
  INPROGRESS: { open: 'live_session', debug: 'live_session', closed: 'live_session' },
  BLOCKED: { open: 'live_session', debug: 'continue', closed: 'continue' },
  SUCCEEDED: { open: 'live_session', debug: 'continue', closed: 'continue' },
  FAILED: { open: 'live_session', debug: 'live_session', closed: 'continue' },
  ERROR: { open: 'continue', debug: 'continue', closed: 'continue' },
  CANCELLED: { open: 'continue', debug: 'continue', closed: 'continue' },
};

/** Where a follow-up goes. Empty messages are taken only when a run continues from its saved conversation. */
export function routeFollowup(situation: FollowupSituation): FollowupDecision {
  const { open, debug, closed } = ROUTES[situation.state];
  const route = { open, debug, stopping: closed, none: closed }[situation.session];
  if (route === 'continue') {
    return situation.hasConversation ? { outcome: 'handoff_execution' } : { refuse: 'nothing_to_continue' };
  }
  return situation.isMessageEmpty ? { refuse: 'empty_message' } : { outcome: route };
}
