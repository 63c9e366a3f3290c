import { newUuid, SystemClock } from '#platform/kernel';
import type { Assignment, RunnerEvent, RunnerHandover } from '#execution/runner-protocol';
import type { Execution } from './execution.js';
import type { ExecutionOptions } from './execution-options.js';
import { RUNNER_EXIT, type RunnerExitCode } from './launcher-contract.js';
import { failed, fenced, Termination, type ExecutionEnd } from './termination.js';
import { ControlPlane, LeaseLostError, NoResponseError } from './protocol/control-plane.js';
import { Lease, heartbeatLoop, commandLoop } from './protocol/lease.js';
import { Outbox } from './protocol/outbox.js';
import { redactingLog, Redactor, secretValues } from './redaction/redactor.js';
import { errorText, type RunnerLog } from './runner-log.js';
import { onAbort, retry, sleep } from './retry.js';

export interface RunExecutionOptions extends Pick<
  ExecutionOptions,
  'builtinAgentArgs' | 'log' | 'endsWhenIdle' | 'stopMeansCancel'
> {
  /** Aborts when the runner shall stop (SIGTERM). */
  readonly drain?: AbortSignal;
  /** Aborts when the runner shall stop at once (a second SIGTERM). */
  readonly abort?: AbortSignal;
  /** Aborts when the execution shall end unless its agent works, and then after the turn (RETIRE_SIGNAL). */
  readonly retire?: AbortSignal;
  readonly onClaimed?: (assignment: Assignment) => void;
  /** Gets every event as it is reported, without secrets. */
  readonly onEvent?: (event: RunnerEvent) => void;
}

const FORCED_STOP_MS = 3_000;
const DEFAULT_CLAIM_SECONDS = 60;
const CLAIM_REPORT_MS = 5_000;

/** Resolves when all processes of the execution have ended and its workspace is removed; does not reject. */
export async function runExecution(handover: RunnerHandover, options: RunExecutionOptions): Promise<RunnerExitCode> {
  const { drain, abort, retire } = options;
  let { log } = options;
  const termination = new Termination();
  const lost = new AbortController();
  const over = new AbortController();
  let execution: Execution | null = null;

  const loseLease = (reason: string): void => {
    if (lost.signal.aborted || over.signal.aborted) return;
    log.error('the lease is lost', { reason });
    termination.decide(fenced());
    lost.abort();
    execution?.killNow();
  };
  const onFailure = (error: unknown): void => {
    if (lost.signal.aborted || over.signal.aborted) return;
    if (error instanceof LeaseLostError) return loseLease(error.message);
    log.error('the control plane rejected a report', { error: errorText(error) });
    const message = `The control plane rejected a report of the runner: ${errorText(error)}`;
    termination.decide(failed('internal_error', message));
  };

  const lease = new Lease(() => loseLease('no response from the control plane in time'));
  const signal = AbortSignal.any([lost.signal, over.signal]);
  const plane = new ControlPlane({
    baseUrl: handover.base_url,
    executionId: handover.execution_id,
    token: handover.token,
    instanceId: newUuid(),
    onContact: (sentAt) => lease.renewed(sentAt),
    signal,
  });

  const warn = () => log.warn('the API has not answered the claim yet', { base_url: handover.base_url });
  const slow = setTimeout(warn, CLAIM_REPORT_MS);
  const stopping = AbortSignal.any([drain, retire].filter((one) => one !== undefined));
  let assignment;
  let parts;
  try {
    // The modules that drive an agent are loaded during the claim: loading takes longer than the request.
    const [claimed, loaded] = await Promise.all([
      plane.claim((handover.claim_seconds ?? DEFAULT_CLAIM_SECONDS) * 1000, stopping),
      import('./execution.js'),
    ]);
    parts = loaded;
    assignment = claimed.assignment;
    lease.start(assignment.ttl_seconds, claimed.sentAt);
  } catch (error) {
    log.error('the execution could not be claimed', { base_url: handover.base_url, error: errorText(error) });
    over.abort();
    return error instanceof NoResponseError ? RUNNER_EXIT.notClaimed : RUNNER_EXIT.claimRefused;
  } finally {
    clearTimeout(slow);
  }
  const { [assignment.harness.type]: harness } = handover.harnesses ?? {};
  const redactor = new Redactor(secretValues(assignment, { ...handover.place_env, ...harness?.env }));
  options.onClaimed?.(assignment);
  log = redactingLog(log, redactor);
  const { run_id, lease_epoch } = assignment;
  log.info('claimed', { run_id, lease_epoch, harness: assignment.harness.type });

  const outbox = new Outbox({
    send: (events) => plane.sendEvents(events),
    onAck: ({ desired }) => execution?.onDesired(desired),
    onFailure,
    clock: new SystemClock(),
    maxOutputBytes: handover.limits.max_output_bytes,
    redactor,
    signal,
    onSealed: options.onEvent,
  });
  const running = new parts.Execution({ ...options, handover, assignment, plane, outbox, termination, redactor, log });
  execution = running;
  const loops = {
    plane,
    lease,
    onDesired: running.onDesired.bind(running),
    onCommands: running.onCommands.bind(running),
    onFailure,
    signal,
    heartbeatsPerLease: handover.beats_per_lease,
  };
  void heartbeatLoop(assignment.next_beat_seconds, loops);
  void commandLoop(assignment.command_version ?? 0, loops);
  onAbort(retire, () => running.retire());
  onAbort(drain, () => running.onShutdown(false));
  onAbort(abort, () => {
    running.onShutdown(true);
    // Reports that are not acknowledged by then are lost.
    void sleep(FORCED_STOP_MS, over.signal).then(() => loseLease('the runner was stopped at once'));
  });

  const { report } = await running.run();
  const redactedReport = redactor.json(report) as ExecutionEnd['report'];
  const [code] = await Promise.all([
    termination.isFenced ? RUNNER_EXIT.fenced : finish(plane, redactedReport, lost.signal, abort, log),
    running.removeWorkspace(),
  ]);
  over.abort();
  lease.stop();
  return code;
}

/** Repeats the final report until it is acknowledged or the lease is lost; after an abort it is sent only once. */
async function finish(
  plane: ControlPlane,
  report: ExecutionEnd['report'],
  lost: AbortSignal,
  abort: AbortSignal | undefined,
  log: RunnerLog,
): Promise<RunnerExitCode> {
  const again = (error: unknown, attempt: number): boolean => {
    if (lost.aborted) return false;
    log.warn('the end could not be reported', { error: errorText(error), attempt });
    return error instanceof NoResponseError && abort?.aborted !== true;
  };
  try {
    await retry(() => plane.finish(report), { firstMs: 100, maxMs: 2_000, signal: lost, again });
    log.info('finished', { outcome: report.outcome });
    return RUNNER_EXIT.reported;
  } catch (error) {
    return lost.aborted || error instanceof LeaseLostError ? RUNNER_EXIT.fenced : RUNNER_EXIT.fault;
  }
}
