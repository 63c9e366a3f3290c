import type { HostLog } from '#execution/runner';
import type { RunnerHandover } from '#execution/runner-protocol';
import type { RunnerSignal, RunningTask, TaskEnd, TaskHandle } from '../backend.js';
import { containerEnd } from './container-exit.js';
import { EngineUnreachable } from './engine-connection.js';
import type { RunnerContainer } from './runner-container.js';

export interface ContainerTaskOptions {
  readonly container: RunnerContainer;
  readonly handle: TaskHandle;
  /** As the run names it. */
  readonly image: string;
  readonly memoryBytes: number;
  /** Null: an earlier process of the host has passed it. */
  readonly handover: RunnerHandover | null;
  /** Never rejects. */
  readonly remove: () => Promise<void>;
  readonly log: HostLog;
}

/** An execution whose container runs. */
export class ContainerTask implements RunningTask {
  readonly ended: Promise<TaskEnd>;
  /** Aborted when the engine does not answer: the exit of the container is not waited for. */
  private readonly abandon = new AbortController();

  constructor(private readonly options: ContainerTaskOptions) {
    this.ended = this.untilEnd();
  }

  get handle(): TaskHandle {
    return this.options.handle;
  }

  begin(): Promise<void> {
    const { handover, container } = this.options;
    if (handover) container.assign(handover);
    return Promise.resolve();
  }

  signal(signal: RunnerSignal): void {
    const { container, log } = this.options;
    container.signal(signal).catch((error: unknown) => {
      log.warn(`${signal} did not reach the container`, { container: container.name, error: String(error) });
      // What an unreachable engine still runs is removed when it is back.
      if (signal === 'SIGKILL' && error instanceof EngineUnreachable) this.abandon.abort();
    });
  }

  private async untilEnd(): Promise<TaskEnd> {
    const { container, image, memoryBytes, remove, log } = this.options;
    const end = await container.exit(this.abandon.signal).then(
      (state) => containerEnd(state, { image, memoryBytes, tail: container.tail }),
      (error: unknown): TaskEnd => {
        log.warn('a container is not waited for any more', { container: container.name, error: String(error) });
        const message = 'The Docker Engine did not answer, and the exit code of the container is unknown.';
        return { kind: 'vanished', reason: 'runner_stopped', message };
      },
    );
    await remove();
    return end;
  }
}
