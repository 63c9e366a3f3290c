import { constants } from 'node:os';
import { RUNNER_EXIT } from '#execution/runner';
import type { TaskCompleted, TaskFailed } from '#execution/worker-protocol';
import type { TaskEnd } from './backend.js';
import type { Wish } from './active-task.js';

/** What a message about the end of a task says beyond what the runner itself has reported. */
export const FAILURE_REASON = {
  setup: 'environment_setup_failed',
  agent: 'agent_process_failed',
  /** Stopped, killed, or gone without a word: the machine's doing, not the agent's. */
  lost: 'infrastructure_timeout',
  /** The runner itself could not go on. */
  fault: 'internal_error',
} as const;

/**
 * The message with which the worker tells the end of a task. A runner that has left in order has told everything that
 * there is to tell; null: the execution is somebody else's, and nothing is said.
 */
export function endFrame(taskId: string, end: TaskEnd, wish: Wish | null): TaskCompleted | TaskFailed | null {
  if (wish === 'lost') return null;
  if (end.kind === 'setup_failed') return failed(taskId, end.message, FAILURE_REASON.setup);
  if (end.kind === 'agent_failed') return failed(taskId, end.message, FAILURE_REASON.agent, end.exitCode);
  if (end.kind === 'exited' && end.code === RUNNER_EXIT.reported)
    return completed(taskId, 'The runner has reported the end of the execution.', wish);
  if (wish === 'stop' || wish === 'kill') return completed(taskId, 'The task was stopped.', wish);
  if (wish === 'drain')
    return failed(taskId, 'The worker was stopped before the task had finished.', FAILURE_REASON.lost);
  if (end.kind === 'vanished') return failed(taskId, end.message, FAILURE_REASON.lost);
  const code = exitCodeOf(end);
  // Without its lease a runner was out of touch for too long; whoever wants such runs tried again is to get that.
  const isLost = end.signal !== null || end.code === RUNNER_EXIT.fenced;
  const reason = isLost ? FAILURE_REASON.lost : FAILURE_REASON.fault;
  return failed(taskId, describe(end.code, end.signal), reason, code);
}

function completed(taskId: string, message: string, wish: Wish | null): TaskCompleted {
  const isCancelled = wish === 'stop' || wish === 'kill';
  return {
    type: 'task_completed',
    data: { task_id: taskId, message, ...(isCancelled ? { task_state: 'CANCELLED' } : {}) },
  };
}

function failed(taskId: string, message: string, reason: string, exitCode?: number): TaskFailed {
  return {
    type: 'task_failed',
    data: {
      task_id: taskId,
      message,
      failure_reason: reason,
      ...(exitCode === undefined ? {} : { exit_code: exitCode }),
    },
  };
}

/** As a shell counts: 128 + signal for a killed process. */
export function exitCodeOf(end: TaskEnd): number {
  if (end.kind === 'agent_failed') return end.exitCode;
  if (end.kind !== 'exited') return 1;
  return end.code ?? (end.signal === null ? 1 : 128 + constants.signals[end.signal]);
}

function describe(code: number | null, signal: string | null): string {
  if (signal !== null) return `The runner was ended by ${signal}.`;
  if (code === RUNNER_EXIT.notClaimed)
    return 'The runner could not reach the server: see --server-root-url, and NODE_EXTRA_CA_CERTS for an authority of your own.';
  if (code === RUNNER_EXIT.claimRefused) return 'The runner could not claim the execution: it is not its own any more.';
  if (code === RUNNER_EXIT.fenced) return 'The runner has lost its lease.';
  return `The runner has left with exit code ${code ?? 'unknown'}.`;
}
