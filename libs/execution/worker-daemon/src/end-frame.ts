import type { TaskEnd } from '#execution/backends';
import { exitCodeOf, RUNNER_EXIT } from '#execution/runner';
import type { StopMode } from '#execution/worker';
import type { TaskCompleted, TaskFailed } from '#execution/worker-protocol';

/** Reasons of a failure, in addition to what the runner has reported. */
export const FAILURE_REASON = {
  setup: 'environment_setup_failed',
  agent: 'agent_process_failed',
  /** Stopped, killed or vanished because of the machine, not because of the agent. */
  lost: 'infrastructure_timeout',
  fault: 'internal_error',
} as const;

/** Null when the execution no longer belongs to this worker. A runner that ended in order has reported the result. */
export function endFrame(taskId: string, end: TaskEnd, stopMode: StopMode | null): TaskCompleted | TaskFailed | null {
  if (stopMode === 'lost') return null;
  if (end.kind === 'setup_failed') return failed(taskId, end.message, FAILURE_REASON.setup);
  if (end.kind === 'agent_failed') return failed(taskId, end.message, FAILURE_REASON.agent, end.exitCode);
  if (end.kind === 'exited' && end.code === RUNNER_EXIT.reported)
    return completed(taskId, 'The runner has reported the end of the execution.', stopMode);
  if (stopMode === 'stop' || stopMode === 'kill') return completed(taskId, 'The task was stopped.', stopMode);
  if (stopMode === 'drain')
    return failed(taskId, 'The worker was stopped before the task had finished.', FAILURE_REASON.lost);
  if (end.kind === 'vanished') return failed(taskId, end.message, FAILURE_REASON.lost);
  const code = exitCodeOf(end);
  // A runner loses its lease when it was disconnected for too long, so clients can retry such a run.
  const isLost = isKilled(end) || end.code === RUNNER_EXIT.fenced;
  const reason = isLost ? FAILURE_REASON.lost : FAILURE_REASON.fault;
  return failed(taskId, describe(end.code, end.signal), reason, code);
}

/** A container that ended by a signal has an exit code only: 128 and the number of the signal. */
const isKilled = ({ code, signal }: { readonly code: number | null; readonly signal: string | null }): boolean =>
  signal !== null || (code !== null && code > 128);

function completed(taskId: string, message: string, stopMode: StopMode | null): TaskCompleted {
  const isCancelled = stopMode === 'stop' || stopMode === 'kill';
  return {
    type: 'task_completed',
    data: { task_id: taskId, message, ...(isCancelled ? { task_state: 'CANCELLED' } : {}) },
  };
}

function failed(taskId: string, message: string, reason: string, exitCode?: number): TaskFailed {
  return {
    type: 'task_failed',
    data: { task_id: taskId, message, failure_reason: reason, exit_code: exitCode },
  };
}

export function exitCodeOfTask(end: TaskEnd): number {
  if (end.kind === 'agent_failed') return end.exitCode;
  return end.kind === 'exited' ? exitCodeOf(end) : 1;
}

function describe(code: number | null, signal: string | null): string {
  if (signal !== null) return `The runner was ended by ${signal}.`;
  if (code === RUNNER_EXIT.notClaimed)
    return 'The runner could not reach the server: check --server-root-url, and NODE_EXTRA_CA_CERTS for a private certificate authority.';
  if (code === RUNNER_EXIT.claimRefused) return 'The runner could not claim the execution: the execution was given up.';
  if (code === RUNNER_EXIT.fenced) return 'The runner lost its lease.';
  return `The runner ended with exit code ${code ?? 'unknown'}.`;
}
