import { RUNNER_EXIT } from '#execution/runner';
import { unreachableApiMessage } from '../runner-process.js';
import type { ContainerState } from './docker-engine.js';

export type ContainerExit =
  | { readonly kind: 'in_order' }
  | { readonly kind: 'lost'; readonly reason: string; readonly hint?: string }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string; readonly exitCode: number };

/** Exit codes of a shell, or of the init of a container, for a program that cannot be started. */
const NOT_STARTED = [126, 127];
const MIB = 1_048_576;

export interface ContainerExitContext {
  readonly image: string;
  readonly memoryBytes: number;
  readonly tail: string;
  readonly runnerApiUrl?: string;
}

export function classifyContainerExit(
  state: ContainerState | null,
  { image, memoryBytes, tail, runnerApiUrl }: ContainerExitContext,
): ContainerExit {
  if (!state) return { kind: 'lost', reason: 'container_removed' };
  const { exitCode } = state;
  if (exitCode === RUNNER_EXIT.reported) return { kind: 'in_order' };
  if (state.isOutOfMemory) {
    const message = `The run’s container exceeded its ${Math.round(memoryBytes / MIB)} MiB of memory and was killed.`;
    return { kind: 'failed', code: 'agent_process_failed', message, exitCode };
  }
  if (NOT_STARTED.includes(exitCode))
    return {
      kind: 'failed',
      code: 'environment_setup_failed',
      message: incompatibleImageMessage(image, state.error || tail),
      exitCode,
    };
  if (exitCode === RUNNER_EXIT.notClaimed)
    return {
      kind: 'lost',
      reason: `runner_exit_${exitCode}`,
      ...(runnerApiUrl === undefined ? {} : { hint: unreachableApiMessage(runnerApiUrl) }),
    };
  return { kind: 'lost', reason: `runner_exit_${exitCode}` };
}

export function incompatibleImageMessage(image: string, detail: string): string {
  const output = detail === '' ? '' : ` Output: ${detail}`;
  return `The image ${image} cannot run Headrace’s runner. It requires glibc and libstdc++, which Debian, Ubuntu and Fedora include (Alpine does not), for the processor architecture of the engine.${output}`;
}

/** Whether the engine reports that it could not start the runner's program; it does so without an init. */
export function isIncompatibleImage(engineMessage: string): boolean {
  return /exec.*(format error|no such file or directory|file not found|permission denied)/i.test(engineMessage);
}
