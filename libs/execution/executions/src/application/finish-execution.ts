import { Injectable } from '@nestjs/common';
import { isErrorCode, toStorableText, truncateUtf8 } from '#platform/kernel';
import { Database, statement } from '#platform/persistence';
import type { FinishRequest } from '#execution/runner-protocol';
import { ExecutionsStore } from '../persistence/executions.store.js';
import { RunTransitions } from '../persistence/run-transitions.store.js';
import { PlacementNudge } from './executors.js';
import { AssignmentSource } from './assignment-source.js';
import { type Ending, ExecutionFinalizer } from './execution-finalizer.js';

const ENDED_WITH = statement('executions.ended-with')`
  SELECT lease_epoch FROM executions WHERE id = $1 AND ended_at IS NOT NULL`;
const MAX_MESSAGE_BYTES = 16_384;

export interface LossOptions {
  /** Asked when the execution is locked. */
  readonly isStillLost?: (execution: { is_expired: boolean; is_fenced: boolean }) => boolean;
  /** A sentence for the run's `status_message` when it is not offered again. */
  readonly detail?: string | undefined;
}

/** Ends an execution that its runner, or the process that watched the runner, reports as over. Idempotent. */
@Injectable()
export class FinishExecution {
  constructor(
    private readonly database: Database,
    private readonly executions: ExecutionsStore,
    private readonly transitions: RunTransitions,
    private readonly endings: ExecutionFinalizer,
    private readonly assignments: AssignmentSource,
    private readonly nudge: PlacementNudge,
  ) {}

  /** The runner's own report. `lease_lost` when the execution belongs to another epoch. */
  async execute(executionId: string, request: FinishRequest): Promise<'finished' | 'lease_lost'> {
    const ended = await this.endWith(executionId, endingOf(request), (epoch) => epoch === request.lease_epoch);
    if (ended && request.error_code === 'environment_setup_failed')
      await this.assignments.recordSetup(executionId, 'failed');
    if (ended) return 'finished';
    const [row] = await this.database.query<{ lease_epoch: number }>(ENDED_WITH, [executionId]);
    return row?.lease_epoch === request.lease_epoch ? 'finished' : 'lease_lost';
  }

  /** The runner has disappeared, or its lease has expired. False when the execution had ended before. */
  async lose(
    executionId: string,
    reason: string,
    { isStillLost = () => true, detail }: LossOptions = {},
  ): Promise<boolean> {
    const ending: Ending = { kind: 'lost', reason, ...(detail === undefined ? {} : { detail }) };
    return this.endWith(executionId, ending, () => true, isStillLost);
  }

  /** With the error of the process that was to start the runner, or saw it exit. False when the execution had ended before. */
  async fail(executionId: string, failure: { code: string; message: string; exitCode?: number }): Promise<boolean> {
    const { code, message, exitCode } = failure;
    const ending = endingOf({
      lease_epoch: 0,
      outcome: 'failed',
      error_code: code,
      message,
      ...(exitCode === undefined ? {} : { exit_code: exitCode }),
    });
    const ended = await this.endWith(executionId, ending, () => true);
    if (ended && code === 'environment_setup_failed') await this.assignments.recordSetup(executionId, 'failed');
    return ended;
  }

  private async endWith(
    executionId: string,
    ending: Ending,
    epochMatches: (epoch: number) => boolean,
    isDue: (execution: { is_expired: boolean; is_fenced: boolean }) => boolean = () => true,
  ): Promise<boolean> {
    const runId = await this.executions.runOf(executionId);
    if (runId === null) return false;
    const ended = await this.database.transaction(async (tx) => {
      const run = await this.transitions.lock(tx, runId);
      const execution = await this.executions.lock(tx, executionId);
      if (!run || !execution || !epochMatches(execution.lease_epoch) || !isDue(execution)) return false;
      await this.endings.end(tx, run, execution, ending);
      return true;
    });
    if (ended) this.nudge.nudge();
    return ended;
  }
}

function endingOf(request: FinishRequest): Ending {
  const exitCode = request.exit_code === undefined ? {} : { exitCode: request.exit_code };
  if (request.outcome === 'failed') {
    const code =
      request.error_code !== undefined && isErrorCode(request.error_code) ? request.error_code : 'internal_error';
    const message = storable(request.message ?? 'The execution failed.');
    return {
      kind: 'failed',
      reason: code,
      status: {
        message,
        error_code: code,
        retryable: request.retryable ?? (code === 'infrastructure_timeout' || code === 'internal_error'),
        ...(request.detail === undefined ? {} : { detail: storable(request.detail) }),
      },
      ...exitCode,
    };
  }
  if (request.outcome === 'handed_back') {
    const detail = request.message === undefined ? {} : { detail: storable(request.message) };
    return { kind: 'handed_back', reason: 'handed_back', ...detail, ...exitCode };
  }
  return { kind: 'closed', reason: request.outcome, ...exitCode };
}

const storable = (text: string): string => truncateUtf8(toStorableText(text).text, MAX_MESSAGE_BYTES).text;
