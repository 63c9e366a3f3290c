import { RUNNER_EXIT } from '#execution/runner';
import { SetupFault, type TaskEnd } from '../backend.js';
import type { ContainerState } from './docker-engine.js';
import { EngineError } from './engine-connection.js';

/** Exit codes of a shell, or of the init of a container, for a program that cannot be started. */
const NOT_STARTED = [126, 127];
const MIB = 1_048_576;

export interface ContainerExitContext {
  /** As the run names it. */
  readonly image: string;
  readonly memoryBytes: number;
  /** The end of the container's output. */
  readonly tail: string;
}

/** What the state of a container says about its execution. Null: the container was removed. */
export function containerEnd(
  state: ContainerState | null,
  { image, memoryBytes, tail }: ContainerExitContext,
): TaskEnd {
  if (!state)
    return {
      kind: 'vanished',
      reason: 'container_removed',
      message: 'The container of the execution was removed, and its exit code is unknown.',
    };
  const { exitCode } = state;
  // The runner has reported the end, even if another process of the container ran out of memory.
  if (exitCode === RUNNER_EXIT.reported) return { kind: 'exited', code: exitCode, signal: null };
  if (state.isOutOfMemory) {
    const message = `The run’s container exceeded its ${Math.round(memoryBytes / MIB)} MiB of memory and was killed.`;
    return { kind: 'agent_failed', message, exitCode };
  }
  if (NOT_STARTED.includes(exitCode))
    return { kind: 'setup_failed', message: incompatibleImageMessage(image, state.error || tail), exitCode };
  return { kind: 'exited', code: exitCode, signal: null };
}

/** The engine's refusal to create or start a container, where the image of the run is the cause; else null. */
export function imageFault(error: unknown, image: string): SetupFault | null {
  if (!(error instanceof EngineError)) return null;
  if (isIncompatibleImage(error.message)) return new SetupFault(incompatibleImageMessage(image, error.message));
  if (/no such image|unable to find (user|group)/i.test(error.message))
    return new SetupFault(`The image ${image} could not be started: ${error.message}`);
  return null;
}

/** @param machine what executes the image, such as `engine`. */
export function incompatibleImageMessage(image: string, detail: string, machine = 'engine'): string {
  const output = detail === '' ? '' : ` Output: ${detail}`;
  return `The image ${image} cannot run Headrace’s runner. It requires glibc and libstdc++, which Debian, Ubuntu and Fedora include (Alpine does not), for the processor architecture of the ${machine}.${output}`;
}

/** Whether the engine reports that it could not start the runner's program; it does so without an init. */
export function isIncompatibleImage(engineMessage: string): boolean {
  return /exec.*(format error|no such file or directory|file not found|permission denied)/i.test(engineMessage);
}
