import { Injectable } from '@nestjs/common';
import { BackgroundTasks } from '#platform/jobs';
import { isErrorCode, toStorableText } from '#platform/kernel';
import { Database, statement } from '#platform/persistence';
import type { FinishRequest } from '#execution/runner-protocol';
import { HOSTED_POOL } from '../domain/run.js';
import { type Execution, ExecutionsStore } from '../persistence/executions.store.js';
import { RunTransitions } from '../persistence/run-transitions.store.js';
import { AssignmentSource } from './assignment-source.js';
import { limitMessage } from '../domain/turn-outcome.js';
import { type Ending, ExecutionFinalizer } from './execution-finalizer.js';
import { PLACE_RUNS_TASK } from './tasks.js';

const ENDED_WITH = statement('executions.ended-with')`
  SELECT lease_epoch FROM executions WHERE id = $1 AND ended_at IS NOT NULL`;

/** Ends an execution that its runner, or the process that watched the runner, reports as over. Idempotent. */
@Injectable()
export class FinishExecution {
  constructor(
    private readonly database: Database,
    private readonly executions: ExecutionsStore,
    private readonly transitions: RunTransitions,
    private readonly finalizer: ExecutionFinalizer,
    private readonly assignments: AssignmentSource,
    private readonly tasks: BackgroundTasks,
  ) {}

  /** The runner's own report. `lease_lost` when the execution belongs to another epoch. */
  async execute(executionId: string, request: FinishRequest): Promise<'finished' | 'lease_lost'> {
    const isOwn = ({ lease_epoch: epoch }: Execution): boolean => epoch === request.lease_epoch;
    if (await this.endWith(executionId, endingOf(request), isOwn)) return 'finished';
    const [row] = await this.database.query<{ lease_epoch: number }>(ENDED_WITH, [executionId]);
    return row?.lease_epoch === request.lease_epoch ? 'finished' : 'lease_lost';
  }

  /**
   * The runner has disappeared, or its lease has expired. `isStillLost` decides when the execution is locked; `detail`: a
   * sentence for the run's `status_message` when it is not offered again. False when the execution had ended before.
   */
  async lose(
    executionId: string,
    reason: string,
    { isStillLost, detail }: { isStillLost?: (execution: Execution) => boolean; detail?: string | undefined } = {},
  ): Promise<boolean> {
    const ending: Ending = { kind: 'lost', reason, ...(detail === undefined ? {} : { detail }) };
    return this.endWith(executionId, ending, isStillLost);
  }

  /** With the error of the process that was to start the runner, or saw it exit. False when the execution had ended before. */
  async fail(executionId: string, failure: { code: string; message: string; exitCode?: number }): Promise<boolean> {
    const { code, message, exitCode } = failure;
    const ending = endingOf({ outcome: 'failed', error_code: code, message });
    return this.endWith(executionId, { ...ending, ...(exitCode === undefined ? {} : { exitCode }) });
  }

  private async endWith(
    executionId: string,
    ending: Ending,
    isDue: (execution: Execution) => boolean = () => true,
  ): Promise<boolean> {
    const ended = await this.database.transaction(async (tx) => {
      const [run, execution] = await Promise.all([
        this.transitions.lockOf(tx, executionId),
        this.executions.lock(tx, executionId),
      ]);
      if (!run || !execution || !isDue(execution)) return null;
      const isQueued = await this.finalizer.end(tx, run, execution, ending);
      // An idle session of the service holds no slot that another run could use. Its own run may wait for its end.
      const mayPlace = isQueued || run.state === 'QUEUED' || execution.slot_held || execution.pool !== HOSTED_POOL;
      return { mayPlace, environmentUid: run.environment_uid };
    });
    if (ended === null) return false;
    if (ended.mayPlace) this.tasks.wake(PLACE_RUNS_TASK);
    if (ending.reason === 'environment_setup_failed' && ended.environmentUid !== null)
      await this.assignments.recordSetup(ended.environmentUid, 'failed');
    return true;
  }
}

function endingOf(request: Omit<FinishRequest, 'lease_epoch'>): Ending {
  const { outcome, message, detail, retryable, error_code: given = '' } = request;
  const exitCode = request.exit_code === undefined ? {} : { exitCode: request.exit_code };
  switch (outcome) {
    case 'failed': {
      const code = isErrorCode(given) ? given : 'internal_error';
      const status = {
        message: storable(message ?? 'The execution failed.'),
        error_code: code,
        retryable: retryable ?? (code === 'infrastructure_timeout' || code === 'internal_error'),
        ...(detail === undefined ? {} : { detail: storable(detail) }),
      };
      return { kind: 'failed', reason: code, status, ...exitCode };
    }
    case 'handed_back':
      return {
        kind: 'handed_back',
        reason: outcome,
        ...(message === undefined ? {} : { detail: storable(message) }),
        ...exitCode,
      };
    case 'closed':
    case 'cancelled':
      return { kind: 'closed', reason: outcome, ...exitCode };
  }
}

const storable = (text: string): string => limitMessage(toStorableText(text).text);
