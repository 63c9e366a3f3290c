import { type ErrorCode, isErrorCode } from '#platform/kernel';
import type { TaskFailed } from '#execution/worker-protocol';

/** How a self-hosted worker says that a task failed; every field is as the worker likes. */
type ReportedFailure = Partial<Pick<TaskFailed['data'], 'task_state' | 'failure_reason' | 'exit_code'>>;

/** Of our runner, where it and not the agent failed: bad input, not claimed, fault, lease lost. */
const RUNNER_EXIT_CODES: ReadonlyMap<number, ErrorCode> = new Map([
  [64, 'internal_error'],
  [69, 'internal_error'],
  [70, 'internal_error'],
  [75, 'infrastructure_timeout'],
  [77, 'internal_error'],
]);

const listed = (code: ErrorCode, reasons: string): [string, ErrorCode][] =>
  reasons.split(' ').map((reason) => [reason, code]);

/** Reasons that published workers give. */
const REASONS: ReadonlyMap<string, ErrorCode> = new Map([
  ...listed('environment_setup_failed', 'image_pull invalid_image sidecar_prep init_container volume_mount'),
  ...listed('environment_setup_failed', 'workspace_setup setup_command'),
  ...listed('internal_error', 'container_create container_start container_wait job_create job_watch pod_watch'),
  ...listed('internal_error', 'teardown_command cleanup task_timeout active_deadline'),
  ...listed('resource_unavailable', 'unschedulable'),
  ...listed('infrastructure_timeout', 'evicted graceful_shutdown task_cancelled'),
]);
const WORDS: readonly (readonly [RegExp, ErrorCode])[] = [
  [/set_?up|environment|image|clone|workspace/, 'environment_setup_failed'],
  [/shut_?down|drain|lost|eviction|infrastructure/, 'infrastructure_timeout'],
  [/agent|harness|process|exit|oom/, 'agent_process_failed'],
];

export function workerFailureCode({ failure_reason: reason, exit_code: exitCode }: ReportedFailure): ErrorCode {
  const given = normalized(reason);
  if (isErrorCode(given)) return given;
  const known = REASONS.get(given);
  if (known) return known;
  const left = exitCode === undefined ? undefined : RUNNER_EXIT_CODES.get(exitCode);
  if (left) return left;
  const meant = WORDS.find(([words]) => words.test(given));
  if (meant) return meant[1];
  return exitCode === undefined || exitCode === 0 ? 'internal_error' : 'agent_process_failed';
}

/** The task did not fail: somebody has cancelled it where it ran. */
export const isCancelledOnWorker = ({ task_state }: ReportedFailure): boolean => task_state === 'CANCELLED';

/**
 * The worker has stopped the task, because we or somebody else asked it to. Published daemons also say that a task was
 * cancelled, as the reason of a failure, when their infrastructure cancelled it, and when a later execution of the same run
 * has replaced it.
 */
export const isStoppedOnWorker = (data: ReportedFailure): boolean =>
  isCancelledOnWorker(data) || normalized(data.failure_reason) === 'task_cancelled';

const normalized = (reason: string | undefined): string => (reason ?? '').toLowerCase().replace(/[^a-z0-9]+/g, '_');
