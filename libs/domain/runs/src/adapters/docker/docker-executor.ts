import { Injectable, Logger } from '@nestjs/common';
import { ConfiguredHarnesses } from '#domain/agents';
import { Settings, SettingsError } from '#platform/config';
import { BackgroundTasks, type PeriodicTask } from '#platform/jobs';
import {
  ContainerLabels,
  DockerEngine,
  drainRunners,
  EngineConnection,
  EngineWatch,
  ImageSupply,
  imageVariables,
  runnerMounts,
  WORKSPACE,
} from '#execution/runner-host';
import type { RunnerHandover } from '#execution/runner-protocol';
import { FinishExecution } from '../../application/execution/finish-execution.js';
import { Executor, type Offer } from '../../application/ports.js';
import { ExecutionTokens } from '../../domain/execution-token.js';
import {
  EXTEND_CONTAINER_OFFERS_TASK,
  KILL_LOST_CONTAINERS_TASK,
  REAP_CONTAINERS_TASK,
  WATCH_DOCKER_ENGINE_TASK,
} from '../../jobs/placement-jobs.js';
import { ExecutionFacts } from '../execution-facts.js';
import { nestLog } from '../nest-log.js';
import { runnerHandover } from '../runner-handover.js';
import { type StartingRunners, startingRunners } from '../starting-runners.js';
import { ContainerReaper } from './container-reaper.js';
import { ContainerRun, type ContainerTools } from './container-run.js';
import { EnvironmentImages } from './environment-images.js';
import { runnerAddressProblem } from './runner-address.js';

/** Runs each execution in a container of its environment's image. See docs/operations/docker-executor.md. */
@Injectable()
export class DockerExecutor extends Executor {
  private readonly logger = new Logger(DockerExecutor.name);
  private readonly tokens: ExecutionTokens;
  private readonly starting: StartingRunners;
  private readonly upkeep: PeriodicTask[] = [];
  private readonly runs = new Map<string, ContainerRun>();
  /** Null until {@link prepare}: an installation that does not use Docker needs none of it. */
  private parts: { tools: ContainerTools; reaper: ContainerReaper } | null = null;

  constructor(
    private readonly settings: Settings,
    private readonly images: EnvironmentImages,
    private readonly facts: ExecutionFacts,
    private readonly finish: FinishExecution,
    private readonly harnesses: ConfiguredHarnesses,
    private readonly tasks: BackgroundTasks,
  ) {
    super();
    this.tokens = new ExecutionTokens(settings.secretsKey ?? '');
    this.starting = startingRunners(settings, facts);
  }

  override get isReady(): boolean {
    return this.parts?.tools.watch.isUp ?? false;
  }

  /** An engine that does not answer is waited for, with the runs in the queue; settings that cannot work are refused. */
  override async prepare(): Promise<void> {
    const problem = runnerAddressProblem(this.settings);
    if (problem !== null) throw new SettingsError([problem]);
    const { dockerHost, dockerCertPath } = this.settings;
    if (dockerHost.kind === 'tcp' && dockerCertPath === '')
      this.logger.warn('DOCKER_HOST is reached without TLS: whoever reaches it too is root on that machine.');
    const engine = new DockerEngine(new EngineConnection(this.settings));
    const address = dockerHost.kind === 'socket' ? dockerHost.path : `${dockerHost.host}:${dockerHost.port}`;
    const labels = new ContainerLabels(this.settings.secretsKey ?? '', this.settings.secretsKeyPrevious);
    const { facts, finish, images, settings } = this;
    const tools: ContainerTools = {
      engine,
      watch: new EngineWatch(engine, address, nestLog('DockerEngine')),
      images,
      supply: new ImageSupply(engine, settings, nestLog('DockerImages')),
      labels,
      facts,
      finish,
      settings,
      log: nestLog('Runner'),
      mounts: runnerMounts(settings),
      handover: (executionId, imageEnv) => this.handover(executionId, imageEnv),
      starting: this.starting,
    };
    this.parts = { tools, reaper: new ContainerReaper({ engine, labels, facts, finish }) };
    await this.look();
    this.upkeep.push(
      this.tasks.run(WATCH_DOCKER_ENGINE_TASK, () => this.look()),
      this.tasks.run(REAP_CONTAINERS_TASK, () => this.reap()),
      this.tasks.run(EXTEND_CONTAINER_OFFERS_TASK, () => this.starting.extendOffers()),
      this.tasks.run(KILL_LOST_CONTAINERS_TASK, () => this.killForgotten()),
    );
  }

  override startCapacity(): Promise<number> {
    return this.starting.capacity();
  }

  override launch(offer: Offer): void {
    if (!this.parts) throw new Error('The Docker executor was not prepared.');
    const run = new ContainerRun(offer, this.parts.tools);
    this.runs.set(offer.executionId, run);
    void run.gone.finally(() => {
      this.runs.delete(offer.executionId);
      this.starting.gone(offer.executionId);
    });
  }

  override async drain(graceMs: number): Promise<void> {
    for (const task of this.upkeep) void task.stop();
    await drainRunners({
      runners: this.runs,
      working: (ids) => this.facts.working(ids),
      graceMs,
      patienceMs: 2 * this.settings.cancelStep + 5000,
      log: nestLog('Executor'),
    });
  }

  private handover(executionId: string, imageEnv: readonly string[]): RunnerHandover {
    return runnerHandover(this.settings, this.tokens, executionId, {
      workspace_dir: WORKSPACE,
      place_env: imageVariables(imageEnv),
      harnesses: this.harnesses.extra,
    });
  }

  /** Looks at the engine, and after an absence of its or ours also at what was left there. */
  private async look(): Promise<void> {
    if (await this.parts?.tools.watch.look()) await this.reap();
  }

  private async reap(): Promise<void> {
    if (!this.isReady) return;
    await this.parts?.reaper
      .reap((executionId) => this.runs.has(executionId))
      .catch((error: unknown) => this.logger.warn(`Containers could not be looked through: ${String(error)}`));
  }

  /** Kills the containers of executions that were given up while their runner hangs. */
  private async killForgotten(): Promise<void> {
    if (this.runs.size === 0) return;
    for (const executionId of await this.facts.forgotten([...this.runs.keys()]))
      this.runs.get(executionId)?.signal('SIGKILL');
  }
}
