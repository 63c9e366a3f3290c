import { defineTask } from '#platform/jobs';
import { sweepIntervalMs } from '../domain/lease.js';

const COMMON = { library: 'executions', process: 'processor', scope: 'process' } as const;
const RUNNERS = { ...COMMON, condition: '`EXECUTOR=process` or `EXECUTOR=docker`' } as const;
const DOCKER_EXECUTOR = { ...COMMON, condition: '`EXECUTOR=docker`' } as const;

export const PLACE_RUNS_TASK = defineTask({
  ...COMMON,
  name: 'place-runs',
  period: { text: '`PLACEMENT_POLL`', of: ({ placementPoll }) => placementPoll },
  description: 'Offers queued runs to the executor of this process. The queue is the state `QUEUED` of runs.',
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

export const REAP_WORKSPACES_TASK = defineTask({
  ...COMMON,
  condition: '`EXECUTOR=process`',
  name: 'reap-workspaces',
  period: 30_000,
  description: 'Removes workspaces of executions that have ended, for example after a crash of the processor.',
});
export const KILL_LOST_RUNNERS_TASK = defineTask({
  ...RUNNERS,
  name: 'kill-lost-runners',
  period: 1000,
  description: 'Kills runners, or their containers, whose execution has ended while they hang.',
});
export const EXTEND_OFFERS_TASK = defineTask({
  ...RUNNERS,
  name: 'extend-offers',
  period: { text: 'a third of `CLAIM_DEADLINE`', of: ({ claimDeadline }) => claimDeadline / 3 },
  description: 'Extends the offers of runners that are starting.',
});

export const WATCH_DOCKER_ENGINE_TASK = defineTask({
  ...DOCKER_EXECUTOR,
  name: 'watch-docker-engine',
  period: 2000,
  description: 'Checks whether the Docker engine answers; runs stay queued while it does not.',
});
export const REAP_CONTAINERS_TASK = defineTask({
  ...DOCKER_EXECUTOR,
  name: 'reap-containers',
  period: 10_000,
  description: 'Removes containers of executions that have ended.',
});
