import type { DebugWindow, RunOwner, StatusMessage, WaitingReason } from './run.js';

function sentence(reason: WaitingReason, owner: Pick<RunOwner, 'teamUid'>): string {
  switch (reason.kind) {
    case 'previous_execution_stopping':
      return 'The previous execution of the run is still stopping.';
    case 'no_worker_for_personal_run':
      return 'Self-hosted workers execute runs of teams only, and this run is personal.';
    case 'no_worker_connected':
      return `No worker named "${reason.worker_host}" is connected.`;
    case 'workers_busy':
      return `The connected workers named "${reason.worker_host}" accept no more runs at the moment.`;
    case 'owner_limit':
      return owner.teamUid === null
        ? `The limit of ${counted(reason.limit, 'concurrent run')} for personal runs of one user is reached.`
        : `The team has reached its limit of ${counted(reason.limit, 'concurrent run')}.`;
    case 'pool_full':
      return reason.limit === 1
        ? 'The only slot for hosted runs is in use.'
        : `All ${reason.limit} slots for hosted runs are in use.`;
  }
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** The stored status of a queued run, such as that it starts again after a lost worker, with what it waits for. */
export function withWaitingReason(
  status: StatusMessage | null,
  reason: WaitingReason | null,
  owner: Pick<RunOwner, 'teamUid'>,
): StatusMessage | null {
  if (reason === null) return status;
  const message = `Waiting: ${sentence(reason, owner)}`;
  return status === null ? { message } : { ...status, message: `${status.message} ${message}` };
}

/** A debug agent that works longer without an answer is stopped: nobody can cancel a run that has failed. */
export const MAX_DEBUG_TURN_MS = 60 * 60_000;

/** How often a message for a debug session that was lost puts its run back into the queue. */
export const MAX_REROUTES = 1;

/** What a failed run's status tells while its debug window is open. */
export function withDebugWindow(status: StatusMessage | null, window: DebugWindow | null): StatusMessage | null {
  if (status === null || window === null) return status;
  return {
    ...status,
    session_debug_until: window.until.toISOString(),
    debug_agent_active: window.isAgentActive,
  };
}
