import { setTimeout as wait } from 'node:timers/promises';
import type { HostLog } from '#execution/runner';
import type { RunnerHandover } from '#execution/runner-protocol';
import {
  type Backend,
  type BackendTask,
  type FoundTask,
  type InstanceShape,
  limited,
  orStopped,
  type RunningTask,
  SetupFault,
  StartFault,
  startStopped,
  type TaskHandle,
} from '../backend.js';
import { ContainerLabels } from '../container-labels.js';
import { imageFault } from './container-exit.js';
import { containerSpecification, type RunnerMount, runnerMounts, WORKSPACE } from './container-specification.js';
import { ContainerTask } from './container-task.js';
import { DockerEngine, EngineMonitor } from './docker-engine.js';
import { type DockerOptions, EngineConnection, EngineUnreachable } from './engine-connection.js';
import { ImagePuller, imageVariables } from './images.js';
import { RunnerContainer } from './runner-container.js';

export interface DockerBackendOptions extends DockerOptions {
  /** Image of runs whose environment names none. */
  readonly dockerDefaultImage: string;
  /** `host:container[:mode]` of directories that the operator shares with containers. */
  readonly volumes?: readonly string[];
  /** Variables for set-up commands and agents, in addition to those of the image. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Origin of the API for containers; default: that of the hand-over. */
  readonly apiOrigin?: string;
  /** False: containers are kept after their end, for an operator to look at. */
  readonly cleanup?: boolean;
  /** Distinguishes the containers of this installation from others on the engine. */
  readonly installationKey: string;
  /** Keys of containers that may still exist. */
  readonly previousKeys?: readonly string[];
}

/**
 * Of CLAIM_DEADLINE: the rest is for the start of the container, and for its exit to be seen before the offer expires, so
 * that the run shows why its runner could not reach the API.
 */
const CLAIM_DEADLINES = 2 / 3;
/** A container that the engine refuses is tried again elsewhere or later, not at once. */
const REFUSED_PAUSE_MS = 1000;
const STATES: Readonly<Record<string, FoundTask['state']>> = { created: 'created', exited: 'stopped', dead: 'stopped' };
const GIB = 1024 ** 3;

/** Runs each execution in a container of its environment's image. See docs/operations/docker-executor.md. */
export class DockerBackend implements Backend {
  readonly name = 'docker';
  readonly claimDeadlines = CLAIM_DEADLINES;
  private readonly engine: DockerEngine;
  private readonly monitor: EngineMonitor;
  private readonly images: ImagePuller;
  private readonly labels: ContainerLabels;
  private mounts: readonly RunnerMount[] = [];

  constructor(
    private readonly options: DockerBackendOptions,
    private readonly log: HostLog,
  ) {
    const { dockerHost: host } = options;
    this.engine = new DockerEngine(new EngineConnection(options));
    const address = host.kind === 'socket' ? host.path : `${host.host}:${host.port}`;
    this.monitor = new EngineMonitor(this.engine, address, log);
    this.images = new ImagePuller(this.engine, options, log);
    this.labels = new ContainerLabels(options.installationKey, options.previousKeys);
  }

  get isReady(): boolean {
    return this.monitor.isUp;
  }

  async prepare(): Promise<void> {
    const { dockerHost, dockerCertPath } = this.options;
    if (dockerHost.kind === 'tcp' && dockerCertPath === '')
      this.log.warn('DOCKER_HOST is reached without TLS: anybody who can connect to it is root on that machine.');
    this.mounts = runnerMounts(this.options);
    await this.monitor.check();
  }

  check(): Promise<boolean> {
    return this.monitor.check();
  }

  async start(task: BackendTask, signal: AbortSignal): Promise<RunningTask> {
    const { executionId } = task;
    if (!this.isReady) await this.monitor.check();
    const container = this.containerOf(executionId);
    let image = this.options.dockerDefaultImage;
    let mayExist = false;
    try {
      image = (await orStopped(task.image(), signal)) ?? image;
      const pulled = await orStopped(this.images.ensure(image), signal);
      if (pulled.kind === 'failed') throw new SetupFault(pulled.message);
      const limits = withShape(this.options, task.shape);
      const specification = containerSpecification(limits, {
        imageId: pulled.image.id,
        labels: this.labels.of(executionId),
        mounts: this.mounts,
        binds: this.options.volumes ?? [],
        hostAddress: await this.engine.hostAddress(limits.dockerNetwork),
        processors: this.monitor.processors,
      });
      mayExist = true;
      const id = await container.create(specification);
      if (signal.aborted) throw startStopped();
      await container.start();
      return this.follow(container, this.handover(task, pulled.image.env), {
        container: container.name,
        container_id: id.slice(0, 12),
        image,
        memory_bytes: limits.dockerMemoryBytes,
      });
    } catch (error) {
      if (mayExist) await this.removeQuietly(container);
      throw await this.startFault(error, image);
    }
  }

  async reattach(executionId: string, handle: TaskHandle): Promise<RunningTask | null> {
    const container = this.containerOf(executionId, handle);
    if ((await this.engine.inspectContainer(container.name)) === null) return null;
    return this.follow(container, null, handle);
  }

  async list(): Promise<FoundTask[]> {
    const containers = await this.engine.listContainers(this.labels.filter);
    return containers.flatMap(({ id, state, labels }): FoundTask[] => {
      const executionId = this.labels.executionOf(labels);
      return executionId === null
        ? []
        : [{ executionId, handle: { container: id }, state: STATES[state] ?? 'running' }];
    });
  }

  remove(executionId: string, handle?: TaskHandle): Promise<void> {
    return this.removeContainer(this.containerOf(executionId, handle));
  }

  private containerOf(executionId: string, { container }: TaskHandle = {}): RunnerContainer {
    const { engine, monitor, log } = this;
    const name = typeof container === 'string' ? container : this.labels.nameOf(executionId);
    return new RunnerContainer(name, executionId, { engine, monitor, log });
  }

  private handover(task: BackendTask, imageEnv: readonly string[]): RunnerHandover {
    const { environment, apiOrigin } = this.options;
    return task.handover({
      workspace_dir: WORKSPACE,
      place_env: { ...imageVariables(imageEnv), ...environment },
      ...(apiOrigin === undefined ? {} : { base_url: `${apiOrigin}/api/v1` }),
    });
  }

  private follow(container: RunnerContainer, handover: RunnerHandover | null, handle: TaskHandle): RunningTask {
    return new ContainerTask({
      container,
      handle,
      image: String(handle.image ?? ''),
      memoryBytes: Number(handle.memory_bytes ?? 0),
      handover,
      remove: () => this.removeQuietly(container),
      log: this.log,
    });
  }

  private async removeContainer(container: RunnerContainer): Promise<void> {
    if (this.options.cleanup ?? true) await container.remove();
    else await container.signal('SIGKILL');
  }

  private async removeQuietly(container: RunnerContainer): Promise<void> {
    await this.removeContainer(container).catch((error: unknown) =>
      this.log.warn('a container is removed later', { container: container.name, error: String(error) }),
    );
  }

  private async startFault(error: unknown, image: string): Promise<Error> {
    if (error instanceof SetupFault || error instanceof StartFault) return error;
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof EngineUnreachable) {
      this.monitor.markUnavailable(error);
      return new StartFault('engine_unreachable', message);
    }
    const fault = imageFault(error, image);
    if (fault !== null) return fault;
    await wait(REFUSED_PAUSE_MS);
    return new StartFault('container_refused', message, refusalHint(message));
  }
}

function withShape(
  options: DockerBackendOptions,
  { vcpus, memory_gb: memoryGb }: InstanceShape = {},
): DockerBackendOptions {
  return {
    ...options,
    dockerCpus: limited(options.dockerCpus, vcpus),
    dockerMemoryBytes: limited(options.dockerMemoryBytes, memoryGb && Math.round(memoryGb * GIB)),
  };
}

/** What an operator can do about a container that the engine has refused. */
function refusalHint(message: string): string | undefined {
  if (/bind source path does not exist/i.test(message))
    return 'The engine does not see the files that this process runs from: set DOCKER_RUNNER_SOURCE.';
  if (/unknown (or invalid )?runtime/i.test(message))
    return 'The engine does not know the OCI runtime that DOCKER_RUNTIME names: add it to the configuration of the engine.';
  return undefined;
}
