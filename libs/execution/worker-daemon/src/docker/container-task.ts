import {
  type ContainerState,
  EngineUnreachable,
  classifyContainerExit,
  type HostLog,
  type RunnerContainer,
} from '#execution/runner-host';
import type { RunnerHandover } from '#execution/runner-protocol';
import type { BackendTask, RunnerSignal, TaskEnd, TaskHandle } from '../backend.js';

export interface ContainerTaskParts {
  readonly container: RunnerContainer;
  readonly handle: TaskHandle;
  /** As the run calls it. */
  readonly image: string;
  readonly memoryBytes: number;
  /** Null: the runner has it already. */
  readonly handover: RunnerHandover | null;
  readonly clear: () => Promise<void>;
  readonly log: HostLog;
}

export class ContainerTask implements BackendTask {
  readonly ended: Promise<TaskEnd>;
  private readonly abandon = new AbortController();

  constructor(private readonly parts: ContainerTaskParts) {
    this.ended = this.untilTheEnd();
  }

  get handle(): TaskHandle {
    return this.parts.handle;
  }

  begin(): Promise<void> {
    const { handover, container } = this.parts;
    if (handover) container.assign(handover);
    return Promise.resolve();
  }

  signal(signal: RunnerSignal): void {
    const { container, log } = this.parts;
    container.signal(signal).catch((error: unknown) => {
      log.warn(`${signal} did not reach the container`, { container: container.name, error: String(error) });
      // Nobody can wait for an engine that is gone; what is left there is removed when it is back.
      if (signal === 'SIGKILL' && error instanceof EngineUnreachable) this.abandon.abort();
    });
  }

  private async untilTheEnd(): Promise<TaskEnd> {
    const { container, clear, log } = this.parts;
    const state = await container.exit(this.abandon.signal).catch((error: unknown) => {
      log.warn('a container is given up', { container: container.name, error: String(error) });
      return null;
    });
    await clear().catch((error: unknown) =>
      log.warn('a container is left for later', { container: container.name, error: String(error) }),
    );
    return this.endOf(state);
  }

  private endOf(state: ContainerState | null): TaskEnd {
    const { container, image, memoryBytes } = this.parts;
    const verdict = classifyContainerExit(state, { image, memoryBytes, tail: container.tail });
    if (verdict.kind === 'failed') {
      const { message, exitCode } = verdict;
      return verdict.code === 'environment_setup_failed'
        ? { kind: 'setup_failed', message }
        : { kind: 'agent_failed', message, exitCode };
    }
    if (state) return { kind: 'exited', code: state.exitCode, signal: null };
    return { kind: 'vanished', message: 'The container of the execution is gone, and nobody saw how it ended.' };
  }
}
