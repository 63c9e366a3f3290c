import { Logger } from '@nestjs/common';
import { setTimeout as wait } from 'node:timers/promises';
import type { Settings } from '#platform/config';
import {
  type ContainerLabels,
  type RunnerContainerDependencies,
  containerSpecification,
  EngineError,
  EngineUnreachable,
  classifyContainerExit,
  type ContainerExit,
  type ImageInfo,
  type ImagePuller,
  isIncompatibleImage,
  RunnerContainer,
  type RunnerMount,
  type StartedRunner,
  incompatibleImageMessage,
} from '#execution/runner-host';
import type { RunnerHandover } from '#execution/runner-protocol';
import type { FinishExecution } from '../../application/finish-execution.js';
import type { Offer } from '../../application/executors.js';
import type { ExecutionQueries } from '../execution-queries.js';
import type { RunnerStartLimiter } from '../runner-start-limiter.js';

/** A container that the engine refuses is tried again elsewhere or later, not at once. */
const REFUSED_PAUSE_MS = 1000;

export interface ContainerTools extends RunnerContainerDependencies {
  readonly imageOf: (executionId: string) => Promise<string>;
  readonly supply: ImagePuller;
  readonly labels: ContainerLabels;
  readonly queries: ExecutionQueries;
  readonly finish: FinishExecution;
  readonly settings: Settings;
  readonly mounts: readonly RunnerMount[];
  readonly starting: RunnerStartLimiter;
  readonly handover: (executionId: string, imageEnv: readonly string[]) => RunnerHandover;
}

class Stopped extends Error {}

export class ContainerRun implements StartedRunner {
  readonly gone: Promise<void>;
  private readonly logger = new Logger('DockerExecutor');
  /** Before the container runs: go no further. */
  private readonly stop = new AbortController();
  /** Nobody waits for the engine any more. */
  private readonly abandon = new AbortController();
  private readonly container: RunnerContainer;
  private image = '';
  private mayExist = false;
  private isRunning = false;

  constructor(
    private readonly offer: Offer,
    private readonly tools: ContainerTools,
  ) {
    const { executionId } = offer;
    this.container = new RunnerContainer(tools.labels.nameOf(executionId), executionId, tools);
    this.gone = this.execute().catch((error: unknown) =>
      this.logger.warn(`Execution ${offer.executionId} is left to its lease: ${String(error)}`),
    );
  }

  signal(signal: 'SIGTERM' | 'SIGKILL'): void {
    this.stop.abort();
    if (!this.isRunning) return;
    this.container.signal(signal).catch((error: unknown) => {
      this.logger.warn({ msg: `${signal} did not reach the container`, ...this.ids, error: String(error) });
      if (signal === 'SIGKILL') this.abandon.abort();
    });
  }

  private get ids(): { execution_id: string; run_id: string } {
    return { execution_id: this.offer.executionId, run_id: this.offer.runId };
  }

  private async execute(): Promise<void> {
    const verdict = await this.untilTheEnd().catch((error: unknown) => this.verdictOf(error));
    this.isRunning = false;
    // First: the run may be executed again as soon as this execution has ended.
    await this.remove();
    const { executionId } = this.offer;
    if (verdict.kind === 'in_order') return;
    if (verdict.kind === 'failed') {
      this.logger.warn({ msg: 'execution failed', ...this.ids, code: verdict.code, problem: verdict.message });
      await this.tools.finish.fail(executionId, verdict);
      return;
    }
    const { reason, hint } = verdict;
    this.logger.warn({ msg: 'runner ended', ...this.ids, reason, ...(hint === undefined ? {} : { hint }) });
    await this.tools.finish.lose(executionId, reason, { detail: hint });
  }

  private async untilTheEnd(): Promise<ContainerExit> {
    const { imageOf, supply, settings } = this.tools;
    const keeper = setInterval(() => this.keepOffer(), settings.claimDeadline / 3);
    try {
      this.image = await this.orStopped(imageOf(this.offer.executionId));
      const supplied = await this.orStopped(supply.ensure(this.image));
      if (supplied.kind === 'failed')
        return { kind: 'failed', code: 'environment_setup_failed', message: supplied.message, exitCode: 0 };
      await this.start(supplied.image);
    } finally {
      clearInterval(keeper);
    }
    const state = await this.container.exit(this.abandon.signal);
    return classifyContainerExit(state, {
      image: this.image,
      memoryBytes: settings.dockerMemoryBytes,
      tail: this.container.tail,
      runnerApiUrl: settings.runnerApiUrl,
    });
  }

  private async start(image: ImageInfo): Promise<void> {
    const { engine, monitor, labels, settings, mounts, queries, handover, starting } = this.tools;
    const { executionId } = this.offer;
    const wish = {
      ...{ imageId: image.id, labels: labels.of(executionId), mounts, processors: monitor.processors },
      hostAddress: await engine.hostAddress(settings.dockerNetwork),
    };
    this.mayExist = true;
    const id = await this.container.create(containerSpecification(settings, wish));
    if (!(await queries.keepOffer(executionId)) || this.stop.signal.aborted) throw new Stopped();
    this.isRunning = true;
    await this.container.start();
    starting.started(executionId);
    this.logger.log({ msg: 'runner started', ...this.ids, image: this.image, container: id.slice(0, 12) });
    this.container.assign(handover(executionId, image.env));
    if (this.stop.signal.aborted) this.signal('SIGTERM');
  }

  private async verdictOf(error: unknown): Promise<ContainerExit> {
    if (error instanceof Stopped || this.abandon.signal.aborted) return { kind: 'lost', reason: 'runner_stopped' };
    if (error instanceof EngineUnreachable) {
      this.tools.monitor.markUnavailable(error);
      return { kind: 'lost', reason: 'engine_unreachable' };
    }
    const problem = error instanceof Error ? error.message : String(error);
    if (error instanceof EngineError) {
      const setup = { kind: 'failed', code: 'environment_setup_failed', exitCode: 0 } as const;
      if (isIncompatibleImage(problem)) return { ...setup, message: incompatibleImageMessage(this.image, problem) };
      if (/no such image|unable to find (user|group)/i.test(problem))
        return { ...setup, message: `The image ${this.image} could not be started: ${problem}` };
    }
    const hint = /bind source path does not exist/i.test(problem)
      ? 'The engine does not see the files that this process runs from: set DOCKER_RUNNER_SOURCE.'
      : undefined;
    this.logger.error({ msg: 'the container could not be started', ...this.ids, image: this.image, problem, hint });
    await wait(REFUSED_PAUSE_MS);
    return { kind: 'lost', reason: 'container_refused' };
  }

  private async remove(): Promise<void> {
    if (!this.mayExist) return;
    try {
      await this.container.remove();
    } catch (error) {
      this.logger.warn({ msg: 'the container is left to the reaper', ...this.ids, error: String(error) });
    }
  }

  /** Pulling an image takes longer than an offer waits. */
  private keepOffer(): void {
    this.tools.queries.keepOffer(this.offer.executionId).then(
      (stands) => {
        if (!stands) this.stop.abort();
      },
      (error: unknown) => this.logger.debug(`An offer was not kept: ${String(error)}`),
    );
  }

  private async orStopped<T>(work: Promise<T>): Promise<T> {
    const { signal } = this.stop;
    if (signal.aborted) throw new Stopped();
    let onAbort = (): void => undefined;
    const stopped = new Promise<never>((_resolve, reject) => {
      onAbort = () => reject(new Stopped());
      signal.addEventListener('abort', onAbort, { once: true });
    });
    return Promise.race([work, stopped]).finally(() => signal.removeEventListener('abort', onAbort));
  }
}
