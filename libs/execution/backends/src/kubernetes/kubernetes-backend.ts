import { setTimeout as wait } from 'node:timers/promises';
import type { V1Pod } from '@kubernetes/client-node';
import type { HostLog } from '#execution/runner';
import {
  type Backend,
  BackendFault,
  type BackendTask,
  type FoundTask,
  type InstanceShape,
  limited,
  orStopped,
  type RunningTask,
  StartFault,
  startStopped,
  type TaskHandle,
} from '../backend.js';
import { ContainerLabels } from '../container-labels.js';
import { KubernetesConnection, KubernetesError } from './kubernetes-connection.js';
import { PodMonitor } from './pod-monitor.js';
import { podSpecification, WORKSPACE } from './pod-specification.js';
import { PodStore } from './pod-store.js';
import { PodTask } from './pod-task.js';
import { type PodTemplate, readPodTemplate } from './pod-template.js';

export interface KubernetesBackendOptions {
  /** A file; empty: KUBECONFIG, the file of the home directory, or the service account of this pod. */
  readonly kubeconfig: string;
  /** Empty: the namespace of the context, or of this pod. */
  readonly kubernetesNamespace: string;
  /** Image of runs whose environment names none. */
  readonly kubernetesDefaultImage: string;
  /** Image with this version of Headrace in /opt/headrace. */
  readonly kubernetesRunnerImage: string;
  readonly kubernetesCpus: number;
  readonly kubernetesMemoryBytes: number;
  readonly kubernetesDiskBytes: number;
  /** A file with fields for every pod; empty: none. */
  readonly kubernetesPodTemplate: string;
  readonly kubernetesStartTimeout: number;
  /** Variables for set-up commands and agents. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Origin of the API for pods; default: that of the hand-over. */
  readonly apiOrigin?: string;
  /** Distinguishes the pods of this installation from others in the namespace. */
  readonly installationKey: string;
  /** Keys of pods that may still exist. */
  readonly previousKeys?: readonly string[];
}

/** A pod that the server rejects is tried again elsewhere or later, not at once. */
const REFUSED_PAUSE_MS = 1000;
const GIB = 1024 ** 3;
const STATES: Readonly<Record<string, FoundTask['state']>> = {
  Pending: 'created',
  Running: 'running',
  Succeeded: 'stopped',
  Failed: 'stopped',
};

interface Cluster {
  readonly store: PodStore;
  readonly monitor: PodMonitor;
}

/** Runs each execution in a pod. See docs/operations/kubernetes.md. */
export class KubernetesBackend implements Backend {
  readonly name = 'kubernetes';
  /** A pod is started long after its offer, so nothing of the deadline is lost before its runner can claim. */
  readonly claimDeadlines = 1;
  private readonly labels: ContainerLabels;
  private connected: Cluster | null = null;
  private template: PodTemplate = {};
  private wasReady = false;

  constructor(
    private readonly options: KubernetesBackendOptions,
    private readonly log: HostLog,
  ) {
    this.labels = new ContainerLabels(options.installationKey, options.previousKeys);
  }

  get isReady(): boolean {
    return this.connected?.monitor.isUp ?? false;
  }

  async prepare(): Promise<void> {
    const { kubeconfig, kubernetesNamespace, kubernetesPodTemplate, kubernetesRunnerImage } = this.options;
    if (kubernetesRunnerImage === '')
      throw new BackendFault(
        'KUBERNETES_RUNNER_IMAGE (runner_image of a worker) is missing: the image of this version of Headrace.',
      );
    this.template = readPodTemplate(kubernetesPodTemplate);
    const connection = await KubernetesConnection.load(kubeconfig, kubernetesNamespace);
    const monitor = new PodMonitor(connection, this.labels.selector, this.log);
    this.connected = { monitor, store: new PodStore(connection, monitor) };
    await monitor.start();
    this.wasReady = this.isReady;
  }

  check(): Promise<boolean> {
    const hasBecomeReady = this.isReady && !this.wasReady;
    this.wasReady = this.isReady;
    return Promise.resolve(hasBecomeReady);
  }

  async start(task: BackendTask, signal: AbortSignal): Promise<RunningTask> {
    const { executionId } = task;
    const { store } = this.cluster;
    const name = this.labels.nameOf(executionId);
    const image = (await orStopped(task.image(), signal)) ?? this.options.kubernetesDefaultImage;
    const limits = withShape(this.options, task.shape);
    const specification = podSpecification({
      name,
      labels: this.labels.of(executionId),
      image,
      runnerImage: this.options.kubernetesRunnerImage,
      ...limits,
      template: this.template,
    });
    try {
      const pod = await store.createPod(specification);
      if (signal.aborted) throw startStopped();
      const content = task.handover({
        workspace_dir: WORKSPACE,
        place_env: { ...this.options.environment },
        ...(this.options.apiOrigin === undefined ? {} : { base_url: `${this.options.apiOrigin}/api/v1` }),
      });
      return this.follow({ pod: name, image, memory_bytes: limits.memoryBytes }, { pod, content });
    } catch (error) {
      throw await this.startFault(error, name);
    }
  }

  async reattach(executionId: string, handle: TaskHandle): Promise<RunningTask | null> {
    const { store, monitor } = this.cluster;
    const pod = await store.find(this.podOf(executionId, handle));
    if (pod === undefined) return null;
    monitor.add(pod);
    return this.follow({ ...handle, pod: this.podOf(executionId, handle) }, null);
  }

  async list(): Promise<FoundTask[]> {
    const pods = await this.cluster.store.list(this.labels.selector);
    return pods.flatMap((pod): FoundTask[] => {
      const executionId = this.labels.executionOf(pod.metadata?.labels ?? {});
      const state = STATES[pod.status?.phase ?? ''] ?? 'unknown';
      return executionId === null ? [] : [{ executionId, handle: { pod: pod.metadata?.name ?? '' }, state }];
    });
  }

  remove(executionId: string, handle?: TaskHandle): Promise<void> {
    return this.cluster.store.remove(this.podOf(executionId, handle));
  }

  private get cluster(): Cluster {
    if (this.connected === null) throw new Error('The backend was not prepared.');
    return this.connected;
  }

  private podOf(executionId: string, { pod }: TaskHandle = {}): string {
    return typeof pod === 'string' ? pod : this.labels.nameOf(executionId);
  }

  private follow(
    handle: TaskHandle,
    handover: { readonly pod: V1Pod; readonly content: ReturnType<BackendTask['handover']> } | null,
  ): RunningTask {
    return new PodTask({
      name: String(handle.pod),
      handle,
      image: String(handle.image ?? ''),
      memoryBytes: Number(handle.memory_bytes ?? 0),
      startTimeoutMs: this.options.kubernetesStartTimeout,
      handover,
      ...this.cluster,
      log: this.log,
    });
  }

  private async startFault(error: unknown, name: string): Promise<Error> {
    const { store, monitor } = this.cluster;
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof KubernetesError && !isBusy(error)) {
      await wait(REFUSED_PAUSE_MS);
      return new StartFault('pod_refused', message, `The cluster has rejected the pod: ${message}`);
    }
    // The pod may exist, because the answer was lost or the start was stopped.
    await store
      .remove(name)
      .catch((fault: unknown) => this.log.warn('a pod is removed later', { pod: name, error: String(fault) }));
    if (error instanceof StartFault) return error;
    monitor.markUnavailable(error);
    return new StartFault('cluster_unavailable', message);
  }
}

/** The server could not handle the request: runs wait in the queue until it can. */
const isBusy = ({ status }: KubernetesError): boolean => status >= 500 || status === 429;

function withShape(
  { kubernetesCpus, kubernetesMemoryBytes, kubernetesDiskBytes }: KubernetesBackendOptions,
  { vcpus, memory_gb: memoryGb }: InstanceShape = {},
): { cpus: number; memoryBytes: number; diskBytes: number } {
  return {
    cpus: limited(kubernetesCpus, vcpus),
    memoryBytes: limited(kubernetesMemoryBytes, memoryGb && Math.round(memoryGb * GIB)),
    diskBytes: kubernetesDiskBytes,
  };
}
