import { Logger } from '@nestjs/common';
import type { Settings } from '#libs/config';
import type { RunnerHandover } from '#libs/runner-protocol';
import type { FinishExecution } from '../../application/execution/finish-execution.js';
import type { Offer } from '../../application/ports.js';
import type { StartedRunner } from '../drain-runners.js';
import type { ExecutionFacts } from '../execution-facts.js';
import type { ContainerLabels } from './container-labels.js';
import { containerSpecification, HOME_DIRECTORY } from './container-specification.js';
import { directoryArchive } from './engine/directory-archive.js';
import type { ContainerState, DockerEngine, ImageFacts } from './engine/docker-engine.js';
import { EngineRefusal, EngineUnreachable, isMissing } from './engine/engine-errors.js';
import { OutputFrames } from './engine/output-frames.js';
import type { EngineWatch } from './engine-watch.js';
import type { EnvironmentImages } from './environment-images.js';
import { exitVerdict, type ExitVerdict, isUnfit, unfitImage } from './exit-verdict.js';
import type { ImageSupply } from './image-supply.js';
import type { RunnerMount } from './runner-files.js';
import { RunnerOutput } from './runner-output.js';

const RETRY_MS = 500;
/** A container that the engine refuses is tried again elsewhere or later, not at once. */
const REFUSED_PAUSE_MS = 1000;

export interface ContainerTools {
  readonly engine: DockerEngine;
  readonly watch: EngineWatch;
  readonly images: EnvironmentImages;
  readonly supply: ImageSupply;
  readonly labels: ContainerLabels;
  readonly facts: ExecutionFacts;
  readonly finish: FinishExecution;
  readonly settings: Settings;
  readonly mounts: readonly RunnerMount[];
  readonly handover: (executionId: string, imageEnv: readonly string[]) => RunnerHandover;
}

class Stopped extends Error {}

/** One execution in a container of its own, from the offer until nothing of it is left on the engine. */
export class ContainerRun implements StartedRunner {
  readonly gone: Promise<void>;
  private readonly logger = new Logger('DockerExecutor');
  /** Before the container runs: go no further. */
  private readonly stop = new AbortController();
  /** Nobody waits for the engine any more. */
  private readonly abandon = new AbortController();
  private readonly output: RunnerOutput;
  private readonly name: string;
  private image = '';
  private mayExist = false;
  private isRunning = false;

  constructor(
    private readonly offer: Offer,
    private readonly tools: ContainerTools,
  ) {
    this.name = tools.labels.nameOf(offer.executionId);
    this.output = new RunnerOutput(offer.executionId);
    this.gone = this.carryOut().catch((error: unknown) =>
      this.logger.warn(`Execution ${offer.executionId} is left to its lease: ${String(error)}`),
    );
  }

  signal(signal: 'SIGTERM' | 'SIGKILL'): void {
    this.stop.abort();
    if (!this.isRunning) return;
    this.tools.engine.signalContainer(this.name, signal).catch((error: unknown) => {
      this.logger.warn({ msg: `${signal} did not reach the container`, ...this.ids, error: String(error) });
      if (signal === 'SIGKILL') this.abandon.abort();
    });
  }

  private get ids(): { execution_id: string; run_id: string } {
    return { execution_id: this.offer.executionId, run_id: this.offer.runId };
  }

  private async carryOut(): Promise<void> {
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
    await this.tools.finish.lose(executionId, reason);
  }

  private async untilTheEnd(): Promise<ExitVerdict> {
    const { images, supply, settings } = this.tools;
    const keeper = setInterval(() => this.keepOffer(), settings.claimDeadline / 3);
    try {
      this.image = await this.orStopped(images.imageOf(this.offer.executionId));
      const supplied = await this.orStopped(supply.supply(this.image));
      if (supplied.kind === 'failed')
        return { kind: 'failed', code: 'environment_setup_failed', message: supplied.message, exitCode: 0 };
      await this.start(supplied.image);
    } finally {
      clearInterval(keeper);
    }
    const state = await this.exit();
    return exitVerdict(state, {
      image: this.image,
      memoryBytes: settings.dockerMemoryBytes,
      tail: this.output.tail,
    });
  }

  private async start(image: ImageFacts): Promise<void> {
    const { engine, watch, labels, settings, mounts, facts, handover } = this.tools;
    const { executionId } = this.offer;
    const wish = { imageId: image.id, labels: labels.of(executionId), mounts, processors: watch.processors };
    this.mayExist = true;
    const id = await engine.createContainer(this.name, containerSpecification(settings, wish));
    await engine.putArchive(this.name, '/', directoryArchive(HOME_DIRECTORY));
    const { socket, head } = await engine.attach(this.name);
    const frames = new OutputFrames((content) => this.output.push(content));
    frames.push(head);
    socket.on('data', (chunk: Buffer) => frames.push(chunk));
    // An engine that goes away breaks it; the container tells its own story when the engine is back.
    socket.on('error', (error) => this.logger.debug({ msg: 'a container’s output ended', error: error.message }));
    if (!(await facts.keepOffer(executionId)) || this.stop.signal.aborted) throw new Stopped();
    this.isRunning = true;
    await engine.startContainer(this.name);
    this.logger.log({ msg: 'runner started', ...this.ids, image: this.image, container: id.slice(0, 12) });
    socket.write(`${JSON.stringify(handover(executionId, image.env))}\n`);
    if (this.stop.signal.aborted) this.signal('SIGTERM');
  }

  /** Waits as long as it takes, also over restarts of the engine. Null: somebody has removed the container. */
  private async exit(): Promise<ContainerState | null> {
    const { engine, watch } = this.tools;
    const { signal } = this.abandon;
    for (;;) {
      try {
        await engine.waitContainer(this.name, signal);
        const state = await engine.inspectContainer(this.name);
        if (!state?.isRunning) return state;
      } catch (error) {
        if (signal.aborted) throw error;
        if (isMissing(error)) return null;
        if (error instanceof EngineUnreachable) watch.isDown(error);
        else this.logger.warn({ msg: 'the container could not be waited for', ...this.ids, error: String(error) });
      }
      await pause(RETRY_MS);
    }
  }

  private async verdictOf(error: unknown): Promise<ExitVerdict> {
    if (error instanceof Stopped || this.abandon.signal.aborted) return { kind: 'lost', reason: 'runner_stopped' };
    if (error instanceof EngineUnreachable) {
      this.tools.watch.isDown(error);
      return { kind: 'lost', reason: 'engine_unreachable' };
    }
    const problem = error instanceof Error ? error.message : String(error);
    if (error instanceof EngineRefusal) {
      const setup = { kind: 'failed', code: 'environment_setup_failed', exitCode: 0 } as const;
      if (isUnfit(problem)) return { ...setup, message: unfitImage(this.image, problem) };
      if (/no such image|unable to find (user|group)/i.test(problem))
        return { ...setup, message: `The image ${this.image} could not be started: ${problem}` };
    }
    const hint = /bind source path does not exist/i.test(problem)
      ? 'The engine does not see the files that this process runs from: set DOCKER_RUNNER_SOURCE.'
      : undefined;
    this.logger.error({ msg: 'the container could not be started', ...this.ids, image: this.image, problem, hint });
    await pause(REFUSED_PAUSE_MS);
    return { kind: 'lost', reason: 'container_refused' };
  }

  private async remove(): Promise<void> {
    if (!this.mayExist) return;
    try {
      await this.tools.engine.removeContainer(this.name);
    } catch (error) {
      this.logger.warn({ msg: 'the container is left to the reaper', ...this.ids, error: String(error) });
    }
  }

  /** Pulling an image takes longer than an offer waits. */
  private keepOffer(): void {
    this.tools.facts.keepOffer(this.offer.executionId).then(
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

const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));
