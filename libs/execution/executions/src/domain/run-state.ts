import { StateMachine } from '#platform/kernel';

export const RUN_STATES = [
  'QUEUED',
  'PENDING',
  'CLAIMED',
  'INPROGRESS',
  'SUCCEEDED',
  'FAILED',
  'BLOCKED',
  'ERROR',
  'CANCELLED',
] as const;
export type RunState = (typeof RUN_STATES)[number];

/** `gone`: too late, the run has ended. `busy`: try again in a moment. `out_of_turn`: a message that came late or twice. */
export type RunRefusal = 'gone' | 'busy' | 'out_of_turn';

const to = (state: RunState) => ({ to: state }) as const;
const gone = { refuse: 'gone' } as const;
const busy = { refuse: 'busy' } as const;
const late = { refuse: 'out_of_turn' } as const;

/**
 * Every move of a run. Applied as guarded `UPDATE … WHERE state = ANY(sources)` together with the event row, so two
 * processes never move a run twice.
 */
export const RUN_STATE_MACHINE = new StateMachine({
  name: 'run',
  states: RUN_STATES,
  initial: 'QUEUED',
  causes: {
    offer: 'a slot is free: an execution is made and offered to a worker',
    claim: 'the worker’s runner accepts the lease',
    hand_back: 'the offer expired, or the runner was lost or stopped before the agent started',
    retry: 'the worker was lost, and the run’s configuration says to try again',
    start: 'the agent gets its first prompt',
    block: 'the agent asks a permission that a person has to give',
    unblock: 'the permission was given, refused or timed out',
    succeed: 'the turn ended and nothing waits',
    fail: 'set-up failed, the agent failed or refused, a ceiling was reached',
    give_up: 'the platform failed: the execution was lost, offers ran out, a time limit of ours',
    cancel: 'somebody cancelled the run',
    resume: 'a follow-up reaches the session that is still open',
    requeue: 'a follow-up to an ended run: it continues in a new execution',
  },
  table: {
    offer: {
      QUEUED: to('PENDING'),
      PENDING: late,
      CLAIMED: late,
      INPROGRESS: late,
      SUCCEEDED: late,
      FAILED: late,
      BLOCKED: late,
      ERROR: late,
      CANCELLED: late,
    },
    claim: {
      QUEUED: late,
      PENDING: to('CLAIMED'),
      CLAIMED: late,
      INPROGRESS: late,
      SUCCEEDED: late,
      FAILED: late,
      BLOCKED: late,
      ERROR: late,
      CANCELLED: late,
    },
    hand_back: {
      QUEUED: late,
      PENDING: to('QUEUED'),
      CLAIMED: to('QUEUED'),
      INPROGRESS: late,
      SUCCEEDED: late,
      FAILED: late,
      BLOCKED: late,
      ERROR: late,
      CANCELLED: late,
    },
    retry: {
      QUEUED: late,
      PENDING: late,
      CLAIMED: to('QUEUED'),
      INPROGRESS: to('QUEUED'),
      SUCCEEDED: late,
      FAILED: late,
      BLOCKED: to('QUEUED'),
      ERROR: late,
      CANCELLED: late,
    },
    start: {
      QUEUED: late,
      PENDING: late,
      CLAIMED: to('INPROGRESS'),
      INPROGRESS: late,
      SUCCEEDED: late,
      FAILED: late,
      BLOCKED: late,
      ERROR: late,
      CANCELLED: late,
    },
    block: {
      QUEUED: late,
      PENDING: late,
      CLAIMED: late,
      INPROGRESS: to('BLOCKED'),
      SUCCEEDED: late,
      FAILED: late,
      BLOCKED: late,
      ERROR: late,
      CANCELLED: late,
    },
    unblock: {
      QUEUED: late,
      PENDING: late,
      CLAIMED: late,
      INPROGRESS: late,
      SUCCEEDED: late,
      FAILED: late,
      BLOCKED: to('INPROGRESS'),
      ERROR: late,
      CANCELLED: late,
    },
    succeed: {
      QUEUED: late,
      PENDING: late,
      CLAIMED: late,
      INPROGRESS: to('SUCCEEDED'),
      SUCCEEDED: late,
      FAILED: late,
      BLOCKED: to('SUCCEEDED'),
      ERROR: late,
      CANCELLED: late,
    },
    fail: {
      QUEUED: late,
      PENDING: to('FAILED'),
      CLAIMED: to('FAILED'),
      INPROGRESS: to('FAILED'),
      SUCCEEDED: late,
      FAILED: late,
      BLOCKED: to('FAILED'),
      ERROR: late,
      CANCELLED: late,
    },
    give_up: {
      QUEUED: late,
      PENDING: to('ERROR'),
      CLAIMED: to('ERROR'),
      INPROGRESS: to('ERROR'),
      SUCCEEDED: late,
      FAILED: late,
      BLOCKED: to('ERROR'),
      ERROR: late,
      CANCELLED: late,
    },
    cancel: {
      QUEUED: to('CANCELLED'),
      PENDING: busy,
      CLAIMED: to('CANCELLED'),
      INPROGRESS: to('CANCELLED'),
      SUCCEEDED: gone,
      FAILED: gone,
      BLOCKED: to('CANCELLED'),
      ERROR: gone,
      CANCELLED: gone,
    },
    resume: {
      QUEUED: late,
      PENDING: late,
      CLAIMED: late,
      INPROGRESS: late,
      SUCCEEDED: to('INPROGRESS'),
      FAILED: to('INPROGRESS'),
      BLOCKED: late,
      ERROR: late,
      CANCELLED: late,
    },
    requeue: {
      QUEUED: late,
      PENDING: late,
      CLAIMED: late,
      INPROGRESS: to('QUEUED'),
      SUCCEEDED: to('QUEUED'),
      FAILED: to('QUEUED'),
      BLOCKED: to('QUEUED'),
      ERROR: to('QUEUED'),
      CANCELLED: to('QUEUED'),
    },
  },
} as const satisfies ConstructorParameters<typeof StateMachine<RunState, string, RunRefusal>>[0]);

export type RunTransition = ReturnType<typeof RUN_STATE_MACHINE.events>[number];

/** Ended for good unless a follow-up continues it. BLOCKED belongs here only without a live execution. */
export const ENDED_STATES = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED'] as const satisfies readonly RunState[];

export function isEnded(state: RunState, hasLiveExecution: boolean): boolean {
  return (ENDED_STATES as readonly RunState[]).includes(state) || (state === 'BLOCKED' && !hasLiveExecution);
}
