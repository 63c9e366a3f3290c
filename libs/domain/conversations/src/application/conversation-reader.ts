import { Injectable, Logger } from '@nestjs/common';
import { Clock } from '#platform/kernel';
import type { Run } from '#domain/runs';
import { type RunHead, RunTail } from '#execution/executions';
import type { ConversationResponse, Step } from '../domain/conversation.js';
import type { ConversationNormalizer, ConversationProjection } from '../domain/conversation-normalizer.js';
import { ConversationProjectionStore } from '../persistence/conversation-projections.store.js';
import { HEADRACE_EVENTS_FORMAT, NormalizerRegistry } from './normalizer-registry.js';

const PAGE_EVENTS = 1000;
/** An unfinished turn is stored too after so many events, so that the next reader need not apply them again. */
const STORE_AFTER_EVENTS = 2000;
/** Bytes of JSON, and time, that one reading of several runs may take: beyond either no further run is read. */
const MAX_BYTES = 32 * 1024 * 1024;
const MAX_READING_MS = 10_000;

export type ConversationResult =
  | { readonly kind: 'found'; readonly conversation: ConversationResponse }
  /** 404: no session of an agent has begun yet. */
  | { readonly kind: 'no_conversation' }
  /** 404: retention has deleted the log of the run. */
  | { readonly kind: 'pruned' }
  /** 503: the conversation of several runs is too large for one response. */
  | { readonly kind: 'too_large' }
  /** 422. */
  | { readonly kind: 'unsupported_format'; readonly format: string };

export type ConversationOwner = Pick<Run, 'id' | 'conversationId' | 'conversationFormat'>;

/** Reads conversations: the stored projection, continued over the rest of the log. Access to the run is checked before. */
@Injectable()
export class ConversationReader {
  private readonly logger = new Logger(ConversationReader.name);

  constructor(
    private readonly log: RunTail,
    private readonly normalizers: NormalizerRegistry,
    private readonly projections: ConversationProjectionStore,
    private readonly clock: Clock,
  ) {}

  async getOfRun({ id, conversationId, conversationFormat }: ConversationOwner): Promise<ConversationResult> {
    if (conversationId === null) return { kind: 'no_conversation' };
    const format = conversationFormat ?? HEADRACE_EVENTS_FORMAT;
    const normalizer = this.normalizers.find(format);
    if (!normalizer) return { kind: 'unsupported_format', format };
    const steps = await this.project(id, normalizer);
    // Every run has a first event: an empty log was pruned.
    if (steps === null) return { kind: 'pruned' };
    return { kind: 'found', conversation: { conversation_id: conversationId, steps } };
  }

  /**
   * The conversation that several runs share, oldest run first; `runs` is not empty. Two round trips a run, one when it is
   * stored. A single run is never too large: its own conversation would be no smaller.
   */
  async getOfRuns(runs: readonly ConversationOwner[]): Promise<ConversationResult> {
    const steps: Step[] = [];
    const usedIds = new Set<string>();
    let conversationId: string | null = null;
    let hasPruned = false;
    let bytes = 0;
    const start = this.clock.now().getTime();
    for (const [index, run] of runs.entries()) {
      if (bytes > MAX_BYTES || this.clock.now().getTime() - start > MAX_READING_MS) return { kind: 'too_large' };
      const result = await this.getOfRun(run);
      if (result.kind === 'unsupported_format') return result;
      if (result.kind === 'pruned') hasPruned = true;
      if (result.kind !== 'found') continue;
      conversationId = result.conversation.conversation_id;
      // Ids of set-up steps start at the beginning in every run, and agents name turns as they like.
      for (const step of result.conversation.steps) {
        const id = usedIds.has(step.id) ? `${run.id}-${step.id}` : step.id;
        usedIds.add(id);
        steps.push({ ...step, id });
      }
      // The size of the last one does not matter: nothing is read after it.
      if (index < runs.length - 1) bytes += Buffer.byteLength(JSON.stringify(result.conversation.steps));
    }
    if (conversationId === null) return { kind: hasPruned ? 'pruned' : 'no_conversation' };
    return { kind: 'found', conversation: { conversation_id: conversationId, steps } };
  }

  /**
   * The projection at the head's sequence number; null when no normalizer reads its format. `atSince` is called with the
   * projection as it was at `since`, unless the stored one is newer than that.
   */
  async openForStreams(
    head: RunHead,
    since: number,
    atSince: (projection: ConversationProjection) => void,
  ): Promise<ConversationProjection | null> {
    const normalizer = this.normalizers.find(head.conversationFormat ?? HEADRACE_EVENTS_FORMAT);
    if (!normalizer) return null;
    const stored = await this.projections.load(head.runId, normalizer);
    const from = stored.seq;
    const projection = normalizer.open(stored);
    if (from <= since) {
      await this.applyUpTo(projection, head.runId, Math.min(since, head.lastSeq));
      atSince(projection);
    }
    await this.applyUpTo(projection, head.runId, head.lastSeq);
    if (projection.state.seq - from >= STORE_AFTER_EVENTS) await this.store(head.runId, normalizer, projection);
    return projection;
  }

  private async project(runId: string, normalizer: ConversationNormalizer): Promise<Step[] | null> {
    const stored = await this.projections.load(runId, normalizer);
    const from = stored.seq;
    const projection = normalizer.open(stored);
    await this.applyUpTo(projection, runId, Number.POSITIVE_INFINITY);
    const { seq } = projection.state;
    if (seq === 0) return null;
    if (seq > from && (projection.isSettled || seq - from >= STORE_AFTER_EVENTS))
      await this.store(runId, normalizer, projection);
    return projection.render();
  }

  private async applyUpTo(projection: ConversationProjection, runId: string, seq: number): Promise<void> {
    while (projection.state.seq < seq) {
      const limit = Math.min(PAGE_EVENTS, seq - projection.state.seq);
      const events = await this.log.read(runId, projection.state.seq, limit);
      projection.add(events);
      if (events.length < limit) return;
    }
  }

  /** Stored projections only save work: a reader gets the conversation although they could not be written. */
  private async store(
    runId: string,
    normalizer: ConversationNormalizer,
    projection: ConversationProjection,
  ): Promise<void> {
    await this.projections.save(runId, normalizer, projection).catch((error: unknown) => {
      this.logger.warn(`The conversation projection of run ${runId} was not stored: ${String(error)}`);
    });
  }
}
