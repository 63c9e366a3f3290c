import { Injectable } from '@nestjs/common';
import {
  ContainerLabels,
  DockerEngine,
  EngineConnection,
  EngineMonitor,
  ImagePuller,
  imageVariables,
  isLoopbackUrl,
  runnerMounts,
  WORKSPACE,
} from '#execution/runner-host';
import { type Settings, SettingsError } from '#platform/config';
import type { Offer } from '../../application/executors.js';
import { REAP_CONTAINERS_TASK, WATCH_DOCKER_ENGINE_TASK } from '../../application/tasks.js';
import { nestLog, RunnerExecutor } from '../runner-executor.js';
import { ContainerRun, type ContainerTools } from './container-run.js';

/** Runs each execution in a container of its environment's image. See docs/operations/docker-executor.md. */
@Injectable()
export class DockerExecutor extends RunnerExecutor<ContainerRun> {
  /** Null until {@link prepare}: an installation that does not use Docker needs none of it. */
  private tools: ContainerTools | null = null;
  /** Containers that stood still the last time. Another processor on the same engine may be about to see to them. */
  private still = new Set<string>();

  override get isReady(): boolean {
    return this.tools?.monitor.isUp ?? false;
  }

  /** An engine that does not answer is waited for, with the runs in the queue; settings that cannot work are refused. */
  override async prepare(): Promise<void> {
    const problem = runnerAddressProblem(this.settings);
    if (problem !== null) throw new SettingsError([problem]);
    const { dockerHost, dockerCertPath } = this.settings;
    if (dockerHost.kind === 'tcp' && dockerCertPath === '')
      this.logger.warn('DOCKER_HOST is reached without TLS: anybody who can connect to it is root on that machine.');
    const engine = new DockerEngine(new EngineConnection(this.settings));
    const address = dockerHost.kind === 'socket' ? dockerHost.path : `${dockerHost.host}:${dockerHost.port}`;
    const labels = new ContainerLabels(this.settings.secretsKey ?? '', this.settings.secretsKeyPrevious);
    const { queries, finish, settings } = this;
    this.tools = {
      engine,
      monitor: new EngineMonitor(engine, address, nestLog('DockerEngine')),
      imageOf: async (executionId) => (await this.assignments.imageOf(executionId)) ?? settings.dockerDefaultImage,
      supply: new ImagePuller(engine, settings, nestLog('DockerImages')),
      labels,
      queries,
      finish,
      settings,
      log: nestLog('Runner'),
      mounts: runnerMounts(settings),
      handover: (executionId, imageEnv) =>
        this.handover(executionId, { workspace_dir: WORKSPACE, place_env: imageVariables(imageEnv) }),
      starting: this.starting,
    };
    await this.look();
    this.startTasks([
      [WATCH_DOCKER_ENGINE_TASK, () => this.look()],
      [REAP_CONTAINERS_TASK, () => this.reap()],
    ]);
  }

  override launch(offer: Offer): void {
    if (!this.tools) throw new Error('The Docker executor was not prepared.');
    const run = new ContainerRun(offer, this.tools);
    this.runners.set(offer.executionId, run);
    void run.gone.finally(() => {
      this.runners.delete(offer.executionId);
      this.starting.gone(offer.executionId);
    });
  }

  private async look(): Promise<void> {
    if (await this.tools?.monitor.check()) await this.reap();
  }

  private async reap(): Promise<void> {
    if (!this.tools?.monitor.isUp) return;
    await this.reapContainers(this.tools).catch((error: unknown) =>
      this.logger.warn(`Containers could not be looked through: ${String(error)}`),
    );
  }

  /** A container that stands still at two checks has lost its runner; one that runs is left to its lease. */
  private async reapContainers({ engine, labels }: ContainerTools): Promise<void> {
    const listed = await engine.listContainers(labels.filter);
    const orphans = listed.flatMap(({ id, state, labels: own }) => {
      const executionId = labels.executionOf(own);
      return executionId === null || this.runners.has(executionId)
        ? []
        : [{ id, executionId, isStill: isStill(state) }];
    });
    const over =
      orphans.length === 0 ? new Set<string>() : await this.queries.over(orphans.map((orphan) => orphan.executionId));
    const before = this.still;
    this.still = new Set(orphans.filter((orphan) => orphan.isStill).map(({ id }) => id));
    for (const { id, executionId, isStill } of orphans) {
      const isOver = over.has(executionId);
      if (!isOver && !(isStill && before.has(id))) continue;
      try {
        await engine.removeContainer(id);
        if (!isOver) await this.finish.lose(executionId, 'container_exited');
        this.logger.log({ msg: 'container of nobody removed', execution_id: executionId, container: id.slice(0, 12) });
      } catch (error) {
        // One container that cannot be removed keeps neither the others nor the service.
        this.logger.error({ msg: 'container of nobody not removed', execution_id: executionId, error: String(error) });
      }
    }
  }
}

export function runnerAddressProblem({ runnerApiUrl, port }: Pick<Settings, 'runnerApiUrl' | 'port'>): string | null {
  if (!isLoopbackUrl(runnerApiUrl)) return null;
  return (
    `EXECUTOR is docker, and RUNNER_API_URL is ${runnerApiUrl}: inside a container that address is the container itself. ` +
    `Set RUNNER_API_URL to an address of this machine that containers reach, such as http://host.docker.internal:${port}, ` +
    'and HOST to an address that the API is reached at from there, such as that of the bridge (172.17.0.1) or 0.0.0.0.'
  );
}

const isStill = (state: string): boolean => state === 'exited' || state === 'dead';
