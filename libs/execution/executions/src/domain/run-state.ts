import { StateMachine, type Transition } from '#platform/kernel';

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

type Row = { readonly [S in RunState]: Transition<RunState, RunRefusal> };

/** A row of the table: `target` from these states; in every other one the event came late or twice. */
function row(
  target: RunState,
  sources: readonly RunState[],
  refusals: Partial<Record<RunState, RunRefusal>> = {},
): Row {
  const cell = (state: RunState): Transition<RunState, RunRefusal> =>
    sources.includes(state) ? { to: target } : { refuse: refusals[state] ?? 'out_of_turn' };
  return Object.fromEntries(RUN_STATES.map((state) => [state, cell(state)])) as Row;
}

/** Applied as a guarded UPDATE together with the event row, so two processes never apply a transition twice. */
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
    block: 'the agent asks a permission that a person has to give, or a question',
    unblock: 'the permission was given, refused or timed out, or the question answered',
    succeed: 'the turn ended and nothing waits',
    fail: 'set-up failed, the agent failed or refused, a ceiling was reached',
    give_up: 'the platform failed: the execution was lost, offers ran out, a time limit of ours',
    cancel: 'somebody cancelled the run',
    resume: 'a follow-up reaches the session that is still open',
    requeue: 'a follow-up to an ended run: it continues in a new execution',
  },
  table: {
    offer: row('PENDING', ['QUEUED']),
    claim: row('CLAIMED', ['PENDING']),
    hand_back: row('QUEUED', ['PENDING', 'CLAIMED']),
    retry: row('QUEUED', ['CLAIMED', 'INPROGRESS', 'BLOCKED']),
    start: row('INPROGRESS', ['CLAIMED']),
    block: row('BLOCKED', ['INPROGRESS']),
    unblock: row('INPROGRESS', ['BLOCKED']),
    succeed: row('SUCCEEDED', ['INPROGRESS', 'BLOCKED']),
    fail: row('FAILED', ['PENDING', 'CLAIMED', 'INPROGRESS', 'BLOCKED']),
    give_up: row('ERROR', ['PENDING', 'CLAIMED', 'INPROGRESS', 'BLOCKED']),
    cancel: row('CANCELLED', ['QUEUED', 'CLAIMED', 'INPROGRESS', 'BLOCKED'], {
      PENDING: 'busy',
      SUCCEEDED: 'gone',
      FAILED: 'gone',
      ERROR: 'gone',
      CANCELLED: 'gone',
    }),
    resume: row('INPROGRESS', ['SUCCEEDED', 'FAILED']),
    requeue: row('QUEUED', ['INPROGRESS', 'SUCCEEDED', 'FAILED', 'BLOCKED', 'ERROR', 'CANCELLED']),
  },
} as const satisfies ConstructorParameters<typeof StateMachine<RunState, string, RunRefusal>>[0]);

export type RunTransition = ReturnType<typeof RUN_STATE_MACHINE.events>[number];

/** Ended for good unless a follow-up continues it. BLOCKED belongs here only without a live execution. */
export const ENDED_STATES = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED'] as const satisfies readonly RunState[];

export function isEnded(state: RunState, hasLiveExecution: boolean): boolean {
  return (ENDED_STATES as readonly RunState[]).includes(state) || (state === 'BLOCKED' && !hasLiveExecution);
}
