import { StateMachine } from '#platform/kernel';

export const EXECUTION_PHASES = ['offered', 'claimed', 'started', 'idle', 'debug', 'ended'] as const;
export type ExecutionPhase = (typeof EXECUTION_PHASES)[number];

/** `ended`: the execution is over. `out_of_turn`: a message that came late or twice. */
export type ExecutionRefusal = 'ended' | 'out_of_turn';

const to = (phase: ExecutionPhase) => ({ to: phase }) as const;
const late = { refuse: 'out_of_turn' } as const;
const ended = { refuse: 'ended' } as const;

/** Statements that change the phase get their guard and their target from this table. */
export const EXECUTION_PHASE_MACHINE = new StateMachine({
  name: 'execution',
  states: EXECUTION_PHASES,
  initial: 'offered',
  causes: {
    claim: 'a runner accepts the offer, or takes the lease over from the self-hosted worker that has claimed for it',
    work: 'the agent starts, or starts another turn',
    rest: 'a turn ends and no follow-up is pending: the session stays open without a slot',
    open_debug_window: 'the set-up failed, and the environment says that the workspace stays open for a while',
    end: 'the runner has finished, was lost, or handed the offer back',
  },
  table: {
    claim: { offered: to('claimed'), claimed: to('claimed'), started: late, idle: late, debug: late, ended },
    work: { offered: late, claimed: to('started'), started: to('started'), idle: to('started'), debug: late, ended },
    rest: { offered: late, claimed: to('idle'), started: to('idle'), idle: to('idle'), debug: late, ended },
    open_debug_window: { offered: late, claimed: to('debug'), started: late, idle: late, debug: late, ended },
    end: {
      offered: to('ended'),
      claimed: to('ended'),
      started: to('ended'),
      idle: to('ended'),
      debug: to('ended'),
      ended,
    },
  },
} as const satisfies ConstructorParameters<typeof StateMachine<ExecutionPhase, string, ExecutionRefusal>>[0]);

export type ExecutionEvent = ReturnType<typeof EXECUTION_PHASE_MACHINE.events>[number];

/** SQL condition: the execution is in a phase in which `event` is not refused. */
export const phaseGuard = (event: ExecutionEvent): string =>
  `phase IN (${EXECUTION_PHASE_MACHINE.sources(event)
    .map((phase) => `'${phase}'`)
    .join(', ')})`;

export const phaseAfter = (event: ExecutionEvent): string => `'${EXECUTION_PHASE_MACHINE.target(event)}'`;
