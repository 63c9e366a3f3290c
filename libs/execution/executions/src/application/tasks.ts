import { defineTask } from '#platform/jobs';
import { sweepIntervalMs } from '../domain/lease.js';

const COMMON = { library: 'executions', process: 'processor', scope: 'process' } as const;

export const PLACE_RUNS_TASK = defineTask({
  ...COMMON,
  name: 'place-runs',
  period: { text: '`PLACEMENT_POLL`', of: ({ placementPoll }) => placementPoll },
  description: 'Offers queued hosted runs to this process. The queue is the state `QUEUED` of runs.',
  wakeUp: { by: 'a run is created, or a slot becomes free', coalesceMs: 10, holdsJob: true },
  queue: {
    name: 'placement',
    options: { concurrency: 1, lockDuration: 10_000, stalledInterval: 5000, runRetryDelay: 500 },
  },
});
export const SWEEP_EXECUTIONS_TASK = defineTask({
  ...COMMON,
  name: 'sweep-executions',
  period: {
    text: 'a sixth of `LEASE_TTL`, between 200 ms and 5 s',
    of: ({ leaseTtl }) => sweepIntervalMs(leaseTtl),
  },
  description:
    'Ends executions whose lease has expired, idle sessions, unanswered permission requests, and runs of disabled users.',
  wakeUp: { by: 'access changes, such as a user being disabled' },
});

export const REMOVE_LEFTOVERS_TASK = defineTask({
  ...COMMON,
  name: 'remove-leftovers',
  period: 10_000,
  description:
    'Removes workspaces and containers of executions that have ended, for example after a crash of the processor.',
});
export const KILL_LOST_RUNNERS_TASK = defineTask({
  ...COMMON,
  name: 'kill-lost-runners',
  period: 1000,
  description: 'Kills runners, or their containers, whose execution has ended while they hang.',
});
export const EXTEND_OFFERS_TASK = defineTask({
  ...COMMON,
  name: 'extend-offers',
  period: { text: 'a third of `CLAIM_DEADLINE`', of: ({ claimDeadline }) => claimDeadline / 3 },
  description: 'Extends the offers of runners that are starting.',
});
export const CHECK_BACKEND_TASK = defineTask({
  ...COMMON,
  name: 'check-backend',
  period: 2000,
  description:
    'Checks whether runners can be started, for example whether the Docker Engine answers; runs stay queued while they cannot.',
});
