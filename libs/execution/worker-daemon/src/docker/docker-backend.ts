import {
  ContainerLabels,
  containerSpecification,
  DockerEngine,
  EngineConnection,
  EngineError,
  EngineMonitor,
  type HostLog,
  ImagePuller,
  type ImageInfo,
  imageVariables,
  isLoopbackUrl,
  isIncompatibleImage,
  RunnerContainer,
  runnerMounts,
  incompatibleImageMessage,
  WORKSPACE,
} from '#execution/runner-host';
import type { RunnerHandover } from '#execution/runner-protocol';
import {
  type Backend,
  type BackendTask,
  type ClaimedTask,
  SetupFault,
  type TaskHandle,
  WorkerFault,
} from '../backend.js';
import type { JournalEntry } from '../journal.js';
import type { WorkerOptions } from '../options/read-worker-options.js';
import { ContainerTask } from './container-task.js';
import { instanceLimits, type WorkerDocker } from './docker-config.js';

const SWEEP_MS = 60_000;
const NOT_RUNNING = ['created', 'exited', 'dead'];

export class DockerBackend implements Backend {
  readonly name = 'docker';
  private readonly engine: DockerEngine;
  private readonly monitor: EngineMonitor;
  private readonly supply: ImagePuller;
  private readonly labels: ContainerLabels;
  /** Containers that somebody looks after. */
  private readonly known = new Set<string>();
  private sweeper: NodeJS.Timeout | undefined;

  /** @param installationKey tells this worker's containers from others on the engine; never leaves the process. */
  constructor(
    private readonly options: WorkerOptions,
    installationKey: string,
    private readonly log: HostLog,
  ) {
    const { docker } = options;
    const { dockerHost: host } = docker;
    this.engine = new DockerEngine(new EngineConnection(docker));
    const address = host.kind === 'socket' ? host.path : `${host.host}:${host.port}`;
    this.monitor = new EngineMonitor(this.engine, address, log);
    this.supply = new ImagePuller(this.engine, docker, log);
    this.labels = new ContainerLabels(installationKey);
  }

  async prepare(): Promise<void> {
    const { serverRootUrl } = this.options.docker;
    if (isLoopbackUrl(serverRootUrl))
      throw new WorkerFault(
        `Inside a container ${serverRootUrl} is the container itself: set server_root_url of the docker section to an address of the API that containers reach, such as http://host.docker.internal:3000.`,
      );
    await this.monitor.check();
    if (!this.monitor.isUp) throw new WorkerFault('No Docker Engine answers; see the log, and DOCKER_HOST.');
    this.sweeper = setInterval(() => void this.sweep(), SWEEP_MS).unref();
  }

  async launch(task: ClaimedTask): Promise<BackendTask> {
    if (!this.monitor.isUp) await this.monitor.check();
    const image = task.assignment.docker_image ?? this.options.docker.defaultImage;
    const supplied = await this.supply.ensure(image);
    if (supplied.kind === 'failed') throw new SetupFault(supplied.message);
    const container = this.containerOf(task.executionId);
    this.known.add(container.name);
    try {
      const id = await this.start(container, task, supplied.image);
      return this.follow(container, this.handover(task, supplied.image), {
        container: container.name,
        container_id: id.slice(0, 12),
        image,
        memory_bytes: this.limitsOf(task).dockerMemoryBytes,
      });
    } catch (error) {
      await this.remove(container).catch((problem: unknown) =>
        this.log.warn('a container is left for later', { container: container.name, error: String(problem) }),
      );
      throw setupFaultOf(error, image) ?? error;
    }
  }

  async reattach({ execution_id: executionId, handle }: JournalEntry): Promise<BackendTask | null> {
    const container = this.containerOf(executionId);
    if ((await this.engine.inspectContainer(container.name)) === null) return null;
    this.known.add(container.name);
    return this.follow(container, null, handle);
  }

  async clear({ execution_id: executionId }: JournalEntry): Promise<void> {
    await this.remove(this.containerOf(executionId));
  }

  close(): Promise<void> {
    clearInterval(this.sweeper);
    return Promise.resolve();
  }

  private containerOf(executionId: string): RunnerContainer {
    return new RunnerContainer(this.labels.nameOf(executionId), executionId, {
      engine: this.engine,
      monitor: this.monitor,
      log: this.log,
    });
  }

  private async start(container: RunnerContainer, task: ClaimedTask, { id: imageId }: ImageInfo): Promise<string> {
    const { docker } = this.options;
    const { additional_sidecars: sidecars = [] } = task.assignment;
    if (sidecars.length > 0)
      this.log.warn('sidecars are not supported and left out', { execution_id: task.executionId });
    const specification = containerSpecification(this.limitsOf(task), {
      imageId,
      labels: this.labels.of(task.executionId),
      mounts: runnerMounts(docker),
      binds: docker.volumes,
      hostAddress: await this.engine.hostAddress(docker.dockerNetwork),
      processors: this.monitor.processors,
    });
    const id = await container.create(specification);
    await container.start();
    return id;
  }

  private limitsOf({ assignment }: ClaimedTask): WorkerDocker {
    return instanceLimits(this.options.docker, assignment.instance_shape);
  }

  private handover(task: ClaimedTask, { env }: ImageInfo): RunnerHandover {
    const { environment, docker } = this.options;
    const place = { workspace_dir: WORKSPACE, place_env: { ...imageVariables(env), ...environment } };
    return { ...task.handover(place), base_url: `${docker.serverRootUrl}/api/v1` };
  }

  private follow(container: RunnerContainer, handover: RunnerHandover | null, handle: TaskHandle): BackendTask {
    return new ContainerTask({
      container,
      handle,
      image: String(handle.image ?? ''),
      memoryBytes: Number(handle.memory_bytes ?? 0),
      handover,
      clear: () => this.remove(container),
      log: this.log,
    });
  }

  private async remove(container: RunnerContainer): Promise<void> {
    // What cannot be removed now is the sweeper's.
    this.known.delete(container.name);
    if (this.options.cleanup) await container.remove();
    else await container.signal('SIGKILL');
  }

  /** Containers of ours that do not run and that nobody knows: a crash in between has left them. */
  private async sweep(): Promise<void> {
    if (!this.options.cleanup) return;
    try {
      for (const { id, state, labels } of await this.engine.listContainers(this.labels.filter)) {
        const executionId = this.labels.executionOf(labels);
        if (executionId === null || !NOT_RUNNING.includes(state)) continue;
        if (!this.known.has(this.labels.nameOf(executionId))) await this.engine.removeContainer(id);
      }
    } catch (error) {
      this.log.warn('containers could not be looked through', { error: String(error) });
    }
  }
}

/** What the run's image is to blame for. */
function setupFaultOf(error: unknown, image: string): SetupFault | null {
  if (!(error instanceof EngineError)) return null;
  if (isIncompatibleImage(error.message)) return new SetupFault(incompatibleImageMessage(image, error.message));
  if (/no such image|unable to find (user|group)/i.test(error.message))
    return new SetupFault(`The image ${image} could not be started: ${error.message}`);
  return null;
}
