import { setTimeout as wait } from 'node:timers/promises';
import type { V1Pod } from '@kubernetes/client-node';
import type { HostLog } from '#execution/runner';
import type { RunnerHandover } from '#execution/runner-protocol';
import type { RunnerSignal, RunningTask, TaskEnd, TaskHandle } from '../backend.js';
import type { PodStore } from './pod-store.js';
import { hasStarted, podEnd, waitingReason } from './pod-end.js';
import type { PodMonitor } from './pod-monitor.js';
import { handoverSecret } from './pod-specification.js';

const RETRY_MS = 3000;

export interface PodTaskOptions {
  readonly name: string;
  readonly handle: TaskHandle;
  /** As the run names it. */
  readonly image: string;
  readonly memoryBytes: number;
  /** How long the pod may wait for a node and its images. */
  readonly startTimeoutMs: number;
  /** Null: an earlier process of the host has passed it. */
  readonly handover: { readonly pod: V1Pod; readonly content: RunnerHandover } | null;
  readonly store: PodStore;
  readonly monitor: PodMonitor;
  readonly log: HostLog;
}

/** An execution whose pod exists. */
export class PodTask implements RunningTask {
  readonly ended: Promise<TaskEnd>;
  readonly launched: Promise<void>;
  private resolveLaunched: () => void = () => undefined;
  private isLaunched = false;
  private isEnded = false;
  private latest: V1Pod | null = null;

  constructor(private readonly options: PodTaskOptions) {
    this.launched = new Promise((resolve) => (this.resolveLaunched = resolve));
    this.ended = this.untilEnd();
  }

  get handle(): TaskHandle {
    return this.options.handle;
  }

  async begin(): Promise<void> {
    const { handover, store } = this.options;
    if (handover !== null) await store.createSecret(handoverSecret(handover.pod, handover.content));
  }

  /** A pod can only be deleted: its runner gets SIGTERM, and SIGKILL after the time that the signal allows. */
  signal(signal: RunnerSignal): void {
    const { name, store, log } = this.options;
    if (signal !== 'SIGTERM' && signal !== 'SIGKILL') return;
    store.deletePod(name, signal).catch((error: unknown) => {
      log.warn('a pod could not be deleted', { pod: name, signal, error: String(error) });
      // The API server may be away for a moment, and nobody sends the signal again.
      if (!this.isEnded) setTimeout(() => this.isEnded || this.signal(signal), RETRY_MS).unref();
    });
  }

  private async untilEnd(): Promise<TaskEnd> {
    const { name, store, log } = this.options;
    const end = await this.observe();
    this.isEnded = true;
    await store
      .remove(name)
      .catch((error: unknown) => log.warn('a pod is removed later', { pod: name, error: String(error) }));
    return end;
  }

  private observe(): Promise<TaskEnd> {
    const { name, image, memoryBytes, monitor, startTimeoutMs } = this.options;
    return new Promise((resolve) => {
      const late = new AbortController();
      let unsubscribe = (): void => undefined;
      const finish = (end: TaskEnd): void => {
        late.abort();
        resolve(end);
        // The first call may come from within `subscribe`.
        queueMicrotask(() => unsubscribe());
      };
      unsubscribe = monitor.subscribe(name, (pod) => {
        if (pod === null) {
          const message = 'The pod of the execution was removed, and its exit code is unknown.';
          return finish({ kind: 'vanished', reason: 'pod_removed', message });
        }
        this.latest = pod;
        if (hasStarted(pod)) {
          late.abort();
          this.hasLaunched();
        }
        const end = podEnd(pod, { image, memoryBytes });
        if (end !== null) finish(end);
      });
      const message = (): string =>
        `The pod was not started within ${Math.round(startTimeoutMs / 1000)} s: ${waitingReason(this.latest)}.`;
      wait(startTimeoutMs, undefined, { signal: late.signal, ref: false }).then(
        () => finish({ kind: 'vanished', reason: 'pod_not_started', message: message(), hint: message() }),
        () => undefined,
      );
    });
  }

  /** The runner has the hand-over in memory now. */
  private hasLaunched(): void {
    if (this.isLaunched) return;
    this.isLaunched = true;
    this.resolveLaunched();
    const { name, store, log } = this.options;
    store
      .deleteSecret(name)
      .catch((error: unknown) =>
        log.warn('the secret of a hand-over is removed with its pod', { pod: name, error: String(error) }),
      );
  }
}
