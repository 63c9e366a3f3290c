import { Injectable, Logger } from '@nestjs/common';
import { BackgroundTasks, type PeriodicTask } from '#platform/jobs';
import {
  ContainerLabels,
  DockerEngine,
  drainRunners,
  EngineConnection,
  EngineMonitor,
  ImagePuller,
  imageVariables,
  isLoopbackUrl,
  runnerMounts,
  WORKSPACE,
} from '#execution/runner-host';
import type { RunnerHandover } from '#execution/runner-protocol';
import { Settings, SettingsError } from '#platform/config';
import { AssignmentSource } from '../../application/assignment-source.js';
import { Executor, type Offer } from '../../application/executors.js';
import { FinishExecution } from '../../application/finish-execution.js';
import { ExecutionTokens } from '../../domain/execution-token.js';
import {
  EXTEND_CONTAINER_OFFERS_TASK,
  KILL_LOST_CONTAINERS_TASK,
  REAP_CONTAINERS_TASK,
  WATCH_DOCKER_ENGINE_TASK,
} from '../../jobs/placement-jobs.js';
import { ExecutionQueries } from '../execution-queries.js';
import { runnerHandover } from '../runner-handover.js';
import { nestLog, type RunnerStartLimiter, runnerStartLimiter } from '../runner-start-limiter.js';
import { ContainerRun, type ContainerTools } from './container-run.js';

/** Runs each execution in a container of its environment's image. See docs/operations/docker-executor.md. */
@Injectable()
export class DockerExecutor extends Executor {
  private readonly logger = new Logger(DockerExecutor.name);
  private readonly tokens: ExecutionTokens;
  private readonly starting: RunnerStartLimiter;
  private readonly upkeep: PeriodicTask[] = [];
  private readonly runs = new Map<string, ContainerRun>();
  /** Null until {@link prepare}: an installation that does not use Docker needs none of it. */
  private parts: { tools: ContainerTools; reaper: ContainerReaper } | null = null;

  constructor(
    private readonly settings: Settings,
    private readonly facts: ExecutionQueries,
    private readonly finish: FinishExecution,
    private readonly assignments: AssignmentSource,
    private readonly tasks: BackgroundTasks,
  ) {
    super();
    this.tokens = new ExecutionTokens(settings.secretsKey ?? '');
    this.starting = runnerStartLimiter(settings, facts);
  }

  override get isReady(): boolean {
    return this.parts?.tools.monitor.isUp ?? false;
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
    const { facts, finish, settings } = this;
    const tools: ContainerTools = {
      engine,
      monitor: new EngineMonitor(engine, address, nestLog('DockerEngine')),
      imageOf: async (executionId) => (await this.assignments.imageOf(executionId)) ?? settings.dockerDefaultImage,
      supply: new ImagePuller(engine, settings, nestLog('DockerImages')),
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
      patienceMs: 2 * this.settings.cancelEscalationDelay + 5000,
      log: nestLog('Executor'),
    });
  }

  private handover(executionId: string, imageEnv: readonly string[]): RunnerHandover {
    return runnerHandover(this.settings, this.tokens, executionId, {
      workspace_dir: WORKSPACE,
      place_env: imageVariables(imageEnv),
      harnesses: this.assignments.harnesses,
    });
  }

  /** Looks at the engine, and after an absence of its or ours also at what was left there. */
  private async look(): Promise<void> {
    if (await this.parts?.tools.monitor.check()) await this.reap();
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

/** Why runners in containers cannot call the API back at RUNNER_API_URL, or null. */
export function runnerAddressProblem({ runnerApiUrl, port }: Pick<Settings, 'runnerApiUrl' | 'port'>): string | null {
  if (!isLoopbackUrl(runnerApiUrl)) return null;
  return (
    `EXECUTOR is docker, and RUNNER_API_URL is ${runnerApiUrl}: inside a container that address is the container itself. ` +
    `Set RUNNER_API_URL to an address of this machine that containers reach, such as http://host.docker.internal:${port}, ` +
    'and HOST to an address that the API is reached at from there, such as that of the bridge (172.17.0.1) or 0.0.0.0.'
  );
}

export interface ReaperTools {
  readonly engine: DockerEngine;
  readonly labels: ContainerLabels;
  readonly facts: ExecutionQueries;
  readonly finish: FinishExecution;
}

/** Containers of the installation that nobody looks after, such as after a crash of ours. */
export class ContainerReaper {
  private readonly logger = new Logger('DockerExecutor');
  /** That stood still the last time. Another processor on the same engine may be about to see to them. */
  private still = new Set<string>();

  constructor(private readonly tools: ReaperTools) {}

  /**
   * Removes what belongs to executions that have ended, whatever it does; what works on for one that lives is left to its
   * lease. One that stands still while its execution lives, at two looks, has lost its runner.
   */
  async reap(isOurs: (executionId: string) => boolean): Promise<void> {
    const { engine, labels, facts, finish } = this.tools;
    const listed = await engine.listContainers(labels.filter);
    const orphans = listed.flatMap(({ id, state, labels: own }) => {
      const executionId = labels.executionOf(own);
      return executionId === null || isOurs(executionId) ? [] : [{ id, executionId, isStill: isStill(state) }];
    });
    const over =
      orphans.length === 0 ? new Set<string>() : await facts.over(orphans.map((orphan) => orphan.executionId));
    const before = this.still;
    this.still = new Set(orphans.filter((orphan) => orphan.isStill).map(({ id }) => id));
    for (const { id, executionId, isStill } of orphans) {
      const isOver = over.has(executionId);
      if (!isOver && !(isStill && before.has(id))) continue;
      try {
        await engine.removeContainer(id);
        if (!isOver) await finish.lose(executionId, 'container_exited');
        this.logger.log({ msg: 'container of nobody removed', execution_id: executionId, container: id.slice(0, 12) });
      } catch (error) {
        // One container that cannot be removed keeps neither the others nor the service.
        this.logger.error({ msg: 'container of nobody not removed', execution_id: executionId, error: String(error) });
      }
    }
  }
}

const isStill = (state: string): boolean => state === 'exited' || state === 'dead';
