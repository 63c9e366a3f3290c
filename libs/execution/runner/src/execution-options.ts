import type { Assignment, RunnerHandover } from '#execution/runner-protocol';
import type { ControlPlane } from './protocol/control-plane.js';
import type { Outbox } from './protocol/outbox.js';
import type { Redactor } from './redaction/redactor.js';
import type { RunnerLog } from './runner-log.js';
import type { Termination } from './termination.js';

export interface ExecutionOptions {
  readonly handover: RunnerHandover;
  readonly assignment: Assignment;
  readonly plane: ControlPlane;
  readonly outbox: Outbox;
  readonly termination: Termination;
  /** Node arguments that start the built-in agent: the compiled entry and its arguments. */
  readonly builtinAgentArgs: readonly string[];
  readonly redactor: Redactor;
  readonly log: RunnerLog;
  /** The session ends when the turn is over and no message waits. Default: it waits for messages until it is closed. */
  readonly endsWhenIdle?: boolean | undefined;
  /** Stopping the runner cancels the run. Default: the platform has stopped the runner. */
  readonly stopMeansCancel?: boolean | undefined;
}
