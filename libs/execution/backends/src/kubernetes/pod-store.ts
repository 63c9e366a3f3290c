import { setTimeout as wait } from 'node:timers/promises';
import type { V1Pod, V1PodList, V1Secret } from '@kubernetes/client-node';
import { type KubernetesConnection, KubernetesError } from './kubernetes-connection.js';
import { type PodMonitor, podsPath } from './pod-monitor.js';

/** Zero would remove the object at once, although its processes may still be there. */
const KILL_SECONDS = 1;
/** A node that does not confirm the end of a pod by then is lost: the pod is removed without it. */
const REMOVAL_TIMEOUT_MS = 60_000;
const LOOK_MS = 1000;

/** The pods of executions, and the secrets of their hand-overs, which have the same names. */
export class PodStore {
  constructor(
    private readonly connection: KubernetesConnection,
    private readonly monitor: PodMonitor,
  ) {}

  async createPod(pod: V1Pod): Promise<V1Pod> {
    const created = await this.connection.call<V1Pod>({ method: 'POST', path: this.podsPath, body: pod });
    this.monitor.add(created);
    return created;
  }

  async list(labelSelector: string): Promise<V1Pod[]> {
    const query = { labelSelector };
    return (await this.connection.call<V1PodList>({ method: 'GET', path: this.podsPath, query })).items;
  }

  find(name: string): Promise<V1Pod | undefined> {
    return this.connection.find<V1Pod>({ method: 'GET', path: `${this.podsPath}/${name}` });
  }

  /** Does nothing for a pod that does not exist. */
  async deletePod(name: string, signal: 'SIGTERM' | 'SIGKILL' | 'force'): Promise<void> {
    const query = signal === 'SIGTERM' ? undefined : { gracePeriodSeconds: signal === 'SIGKILL' ? KILL_SECONDS : 0 };
    await this.connection.find({ method: 'DELETE', path: `${this.podsPath}/${name}`, ...(query && { query }) });
  }

  async createSecret(secret: V1Secret): Promise<void> {
    await this.connection.call({ method: 'POST', path: this.secretsPath, body: secret }).catch((error: unknown) => {
      // The answer to an earlier attempt was lost.
      if (!(error instanceof KubernetesError && error.reason === 'AlreadyExists')) throw error;
    });
  }

  async deleteSecret(name: string): Promise<void> {
    await this.connection.find({ method: 'DELETE', path: `${this.secretsPath}/${name}` });
  }

  /** Removes the pod and the secret of an execution. Resolves when no process of it is left. */
  async remove(name: string): Promise<void> {
    await Promise.all([this.deletePod(name, 'SIGKILL'), this.deleteSecret(name)]);
    const deadline = performance.now() + REMOVAL_TIMEOUT_MS;
    while ((await this.find(name)) !== undefined) {
      if (performance.now() > deadline) return this.deletePod(name, 'force');
      await this.nextState(name);
    }
  }

  /** Resolves when the monitor has seen another state of the pod, or after a while without one. */
  private async nextState(name: string): Promise<void> {
    const seen = new AbortController();
    let isFirst = this.monitor.get(name) !== undefined;
    const unsubscribe = this.monitor.subscribe(name, () => {
      // The present state.
      if (!isFirst) seen.abort();
      isFirst = false;
    });
    await wait(LOOK_MS, undefined, { signal: seen.signal, ref: false }).catch(() => undefined);
    unsubscribe();
  }

  private get podsPath(): string {
    return podsPath(this.connection.namespace);
  }

  private get secretsPath(): string {
    return `/api/v1/namespaces/${encodeURIComponent(this.connection.namespace)}/secrets`;
  }
}
