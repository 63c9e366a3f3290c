import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Settings } from '#platform/config';
import { DatabaseListener, isDatabaseUnavailable } from '#platform/persistence';
import { WorkerSockets } from '#execution/worker-gateway';
import { ExecutionTokens } from '../domain/execution-token.js';
import { WORKER_STOPS_CHANNEL } from '../domain/lease.js';
import { toAssignmentFrame, type WorkerOffer } from '../domain/worker-assignment.js';
import { AssignmentSource } from './assignment-source.js';
import { WorkerOffersStore, type WorkerStop } from '../persistence/worker-offers.store.js';

const MAX_REMEMBERED = 20_000;

/** Gives offers and cancellations to the sockets of this process. */
@Injectable()
export class WorkerDispatcher implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(WorkerDispatcher.name);
  private readonly tokens: ExecutionTokens;
  /** The execution that a connection was last offered of a run: a cancellation of an earlier one must not hit it. */
  private readonly lastOffered = new LRUCache<string, string>({ max: MAX_REMEMBERED });
  private unsubscribe: () => void = () => undefined;

  constructor(
    private readonly settings: Settings,
    private readonly store: WorkerOffersStore,
    private readonly sockets: WorkerSockets,
    private readonly listener: DatabaseListener,
    private readonly assignments: AssignmentSource,
  ) {
    this.tokens = new ExecutionTokens(settings.secretsKey ?? '');
  }

  onApplicationBootstrap(): void {
    this.unsubscribe = this.listener.subscribe(WORKER_STOPS_CHANNEL, (payload) => this.toStop(payload));
  }

  onModuleDestroy(): void {
    this.unsubscribe();
  }

  /** Sends what was offered to these connections and not sent yet. */
  async deliver(connectionIds: readonly string[]): Promise<void> {
    const offers = await this.store.take(connectionIds);
    const unsent: string[] = [];
    await Promise.all(
      offers.map(async (offer) => {
        if (!(await this.send(offer))) unsent.push(offer.executionId);
      }),
    );
    if (unsent.length > 0) await this.store.putBack(unsent);
  }

  /** The worker is to stop an execution, unless it was given a later one of the same run. */
  stop({ connectionId, runId, executionId }: WorkerStop): void {
    const last = this.lastOffered.get(`${connectionId} ${runId}`);
    if (last !== undefined && BigInt(last) > BigInt(executionId)) return;
    this.sockets.send(connectionId, { type: 'task_cancellation', data: { task_id: runId } });
  }

  private async send(offer: WorkerOffer): Promise<boolean> {
    try {
      const worker = this.sockets.find(offer.connectionId);
      // Our own worker's runner asks for secrets with its claim, and brings its runner; others need both in the assignment.
      const { config, dockerImage, secrets } = await this.assignments.describeOffer(
        offer.config,
        worker && !worker.speaksHello ? worker.teamUid : null,
      );
      const { workerSidecarImage: sidecarImage } = this.settings;
      const frame = toAssignmentFrame(
        { ...offer, config },
        {
          token: this.tokens.mint(offer.executionId),
          dockerImage,
          sidecarImage: sidecarImage === '' || worker?.speaksHello === true ? null : sidecarImage,
          secrets,
        },
      );
      const isSent = this.sockets.send(offer.connectionId, frame);
      if (isSent) this.lastOffered.set(`${offer.connectionId} ${offer.runId}`, offer.executionId);
      return isSent;
    } catch (error) {
      this.logger.error({
        msg: 'An offer could not be put together.',
        execution_id: offer.executionId,
        run_id: offer.runId,
        error: error instanceof Error ? error.stack : String(error),
      });
      return false;
    }
  }

  private toStop(payload: string): void {
    if (payload === '') {
      void this.stopWhatWasMissed();
      return;
    }
    const [connectionId = '', runId = '', executionId = ''] = payload.split(' ');
    if (this.sockets.find(connectionId)) this.stop({ connectionId, runId, executionId });
  }

  private async stopWhatWasMissed(): Promise<void> {
    try {
      const local = this.sockets.local().map(({ connectionId }) => connectionId);
      if (local.length === 0) return;
      for (const stop of await this.store.toStop(local)) this.stop(stop);
    } catch (error) {
      if (!isDatabaseUnavailable(error)) this.logger.error(error);
    }
  }
}
