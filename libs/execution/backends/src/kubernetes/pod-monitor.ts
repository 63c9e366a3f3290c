import { setTimeout as wait } from 'node:timers/promises';
import type { V1Pod } from '@kubernetes/client-node';
import type { HostLog } from '#execution/runner';
import { type KubernetesConnection, KubernetesError, KubernetesUnreachable } from './kubernetes-connection.js';

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;
const REMIND_MS = 300_000;
/** The history of the watch is gone, so everything is listed again. */
const GONE = 410;

type PodListener = (pod: V1Pod | null) => void;

/**
 * The pods of this installation, kept current by listing them and watching what changes. A listener is called with every
 * state of its pod that was seen, and with null when the pod does not exist any more.
 */
export class PodMonitor {
  private pods = new Map<string, V1Pod>();
  private readonly listeners = new Map<string, Set<PodListener>>();
  /** Ends the present watch. */
  private watching = new AbortController();
  private remindedAt = -Infinity;
  private isListed = false;
  private resolveFirst: () => void = () => undefined;

  constructor(
    private readonly connection: KubernetesConnection,
    private readonly labelSelector: string,
    private readonly log: HostLog,
  ) {}

  /** False: the API server does not answer, or rejects the requests. */
  get isUp(): boolean {
    return this.isListed;
  }

  get(name: string): V1Pod | undefined {
    return this.pods.get(name);
  }

  /** Resolves after the first attempt to list the pods. */
  start(): Promise<void> {
    const first = new Promise<void>((resolve) => (this.resolveFirst = resolve));
    void this.follow();
    return first;
  }

  /** Calls the listener with the present state first. Returns what removes it. */
  subscribe(name: string, listener: PodListener): () => void {
    const listeners = this.listeners.get(name) ?? new Set();
    this.listeners.set(name, listeners.add(listener));
    const pod = this.pods.get(name);
    if (pod !== undefined) listener(pod);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.listeners.delete(name);
    };
  }

  /** A pod that was just created is known before the watch reports it. */
  add(pod: V1Pod): void {
    const name = nameOf(pod);
    if (!this.pods.has(name)) this.update(name, pod);
  }

  /** Reports a failed request; the pods are listed again before anything else is started. */
  markUnavailable(error: unknown): void {
    const isNews = this.isListed;
    this.isListed = false;
    // It may be silent although its connection is lost.
    this.watching.abort();
    if (!isNews && performance.now() - this.remindedAt < REMIND_MS) return;
    this.remindedAt = performance.now();
    const reason = error instanceof Error ? error.message : String(error);
    const { address, namespace } = this.connection;
    this.log.error(
      `The Kubernetes API at ${address} (namespace ${namespace}) cannot be used: ${reason}. Runs wait in the queue until it is available.`,
    );
  }

  private async follow(): Promise<void> {
    let version: string | null = null;
    let pauseMs = FIRST_PAUSE_MS;
    for (;;) {
      try {
        version ??= await this.list();
        version = await this.watch(version);
        pauseMs = FIRST_PAUSE_MS;
      } catch (error) {
        version = null;
        if (!(error instanceof KubernetesError && error.status === GONE)) {
          this.markUnavailable(error);
          this.resolveFirst();
          await wait(pauseMs, undefined, { ref: false });
          pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
        }
      }
    }
  }

  /** Returns the version from which to watch. */
  private async list(): Promise<string> {
    const { connection, labelSelector } = this;
    // Pods that are created meanwhile may be missing in the answer; the watch reports them.
    const before = new Set(this.pods.keys());
    const { items, metadata } = await connection.call<{ items: V1Pod[]; metadata: { resourceVersion: string } }>({
      method: 'GET',
      path: podsPath(connection.namespace),
      query: { labelSelector },
    });
    const found = new Map(items.map((pod) => [nameOf(pod), pod]));
    for (const name of before) if (!found.has(name)) this.update(name, null);
    for (const [name, pod] of found) this.update(name, pod);
    if (!this.isListed) this.log.info(`The Kubernetes API at ${connection.address} is available.`);
    this.isListed = true;
    this.resolveFirst();
    return metadata.resourceVersion;
  }

  /** Returns the version from which to continue. */
  private async watch(from: string): Promise<string> {
    const { connection, labelSelector } = this;
    let version = from;
    const errors: KubernetesError[] = [];
    this.watching = new AbortController();
    await connection.watch(
      podsPath(connection.namespace),
      { labelSelector, resourceVersion: from },
      (event) => {
        if (event.type === 'ERROR') {
          const { code, reason, message } = event.object;
          errors.push(new KubernetesError(code, reason, message));
          return;
        }
        const { type, object: pod } = event;
        version = pod.metadata?.resourceVersion ?? version;
        if (type !== 'BOOKMARK') this.update(nameOf(pod), type === 'DELETED' ? null : pod, pod);
      },
      this.watching.signal,
    );
    if (!this.isListed) throw new KubernetesUnreachable('a request was not answered');
    if (errors[0] !== undefined) throw errors[0];
    return version;
  }

  /** @param last the state in which a removed pod was seen last. */
  private update(name: string, pod: V1Pod | null, last: V1Pod | null = null): void {
    const listeners = [...(this.listeners.get(name) ?? [])];
    if (last !== null && pod === null) for (const listener of listeners) listener(last);
    if (pod === null) this.pods.delete(name);
    else this.pods.set(name, pod);
    for (const listener of listeners) listener(pod);
  }
}

export const podsPath = (namespace: string): string => `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;

const nameOf = (pod: V1Pod): string => pod.metadata?.name ?? '';
