import type { RunState } from '#domain/runs';
import { RunLogBuilder } from './run-log-builder.js';

/** What has to be known of a run to tell what its log must hold. */
export interface RunStory {
  readonly runId: string;
  readonly prompt: string;
  readonly state: RunState;
  readonly source: string;
  readonly creator: { readonly type: string; readonly uid: string };
  readonly createdAt: Date;
  /** Null for a run that was never offered. */
  readonly executionId: string | null;
  /** Its agent had its first prompt. */
  readonly hasStarted: boolean;
  /** Something of it still lives. */
  readonly isLive: boolean;
  readonly sessionId: string;
  readonly approvalIds: readonly string[];
}

/** Why a run of this state failed; null for the other states. */
export function statusOf({
  state,
  hasStarted,
}: Pick<RunStory, 'state' | 'hasStarted'>): { message: string; error_code?: string; retryable: boolean } | null {
  if (state === 'CANCELLED') return { message: 'Cancelled.', retryable: false };
  if (state === 'FAILED') {
    return hasStarted
      ? { message: 'The agent ended with an error.', error_code: 'agent_process_failed', retryable: false }
      : { message: 'The set-up command `npm ci` failed.', error_code: 'environment_setup_failed', retryable: false };
  }
  if (state !== 'ERROR') return null;
  return hasStarted
    ? {
        message: 'The worker that executed the run stopped responding; its agent was stopped.',
        error_code: 'infrastructure_timeout',
        retryable: true,
      }
    : {
        message: 'The run was offered 5 times and no worker started it.',
        error_code: 'resource_unavailable',
        retryable: true,
      };
}

/** The log that leads to the run's state, a second between two events. */
export function logOf(story: RunStory): RunLogBuilder {
  const { state, executionId, hasStarted, isLive } = story;
  const log = new RunLogBuilder(story.runId, story.createdAt).add('run_created', {
    source: story.source,
    creator: story.creator,
  });
  if (executionId !== null) log.inExecution(executionId);
  if (hasStarted) tellTurn(story, log);
  else if (state === 'CLAIMED') log.add('run_claimed', { execution_id: Number(executionId) });
  else if (state === 'FAILED') {
    log.add('run_claimed', { execution_id: Number(executionId) }).add('setup_started', { commands: 1 });
    log.add('setup_command_finished', {
      index: 0,
      command: 'npm ci',
      exit_code: 1,
      duration_ms: 700,
      output: 'npm error',
    });
  }
  const status = statusOf(story);
  if (state === 'FAILED') log.add('run_failed', { ...status });
  if (state === 'ERROR') log.add('run_errored', { ...status });
  if (state === 'CANCELLED') log.add('run_cancelled', { principal: story.creator });
  if (executionId !== null && !isLive) log.add('sandbox_shutdown', { reason: 'closed' });
  return log;
}

function tellTurn({ state, executionId, prompt, sessionId, approvalIds, isLive }: RunStory, log: RunLogBuilder): void {
  log.add('run_claimed', { execution_id: Number(executionId) }).add('sandbox_ready');
  log.add('session_started', { session_id: sessionId, resumed: false }).add('agent_started', { harness: 'oz' });
  log.turn('turn-1', prompt).says('message-1', 'On it.');
  if (state === 'BLOCKED') {
    for (const approvalId of approvalIds) {
      log.add('permission_requested', {
        approval_id: approvalId,
        title: 'Run `make deploy`',
        options: APPROVAL_OPTIONS,
        ask: true,
      });
      log.add('run_blocked', { approval_id: approvalId, title: 'Run `make deploy`' });
    }
  } else if (state === 'SUCCEEDED' || state === 'QUEUED' || state === 'PENDING' || state === 'CLAIMED') {
    log.ended('turn-1').add('run_done', { stop_reason: 'end_turn' });
  } else if (state === 'FAILED') log.ended('turn-1', 'error', 'The agent ended with an error.');
  else if (state === 'CANCELLED' && !isLive) log.ended('turn-1', 'cancelled');
}

export const APPROVAL_OPTIONS = [
  { option_id: 'yes', name: 'Allow', kind: 'allow_once' },
  { option_id: 'no', name: 'Reject', kind: 'reject_once' },
];
