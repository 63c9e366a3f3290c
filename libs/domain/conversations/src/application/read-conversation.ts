import { Injectable, Logger } from '@nestjs/common';
import { Clock } from '#platform/kernel';
import { type Run, RunLog } from '#domain/runs';
import type { ConversationResponse, Step } from '../domain/conversation.js';
import type { ConversationNormalizer } from '../domain/conversation-normalizer.js';
import { ConversationFolds } from '../persistence/conversation-folds.js';
import { NormalizerRegistry, HEADRACE_EVENTS_FORMAT } from './normalizer-registry.js';

const PAGE_EVENTS = 1000;
/** A turn that goes on is stored too when so much of it was read: the next reader need not fold that again. */
const STORE_AFTER_EVENTS = 2000;
/** Bytes of JSON, and time, that one reading of several runs may take: beyond either no further run is read. */
const MAX_BYTES = 32 * 1024 * 1024;
const MAX_READING_MS = 10_000;

export type ConversationReading =
  | { readonly kind: 'found'; readonly conversation: ConversationResponse }
  /** 404: no session of an agent has begun yet. */
  | { readonly kind: 'no_conversation' }
  /** 404: retention has removed the log that it was made from. */
  | { readonly kind: 'pruned' }
  /** 503: several runs that are together too much for one answer. */
  | { readonly kind: 'too_large' }
  /** 422. */
  | { readonly kind: 'unsupported_format'; readonly format: string };

export type ConversationOwner = Pick<Run, 'id' | 'conversationId' | 'conversationFormat'>;

/** The conversation of a run: what is stored of its fold, gone on with over the rest of the log. */
@Injectable()
export class ReadConversation {
  private readonly logger = new Logger(ReadConversation.name);

  constructor(
    private readonly log: RunLog,
    private readonly normalizers: NormalizerRegistry,
    private readonly folds: ConversationFolds,
    private readonly clock: Clock,
  ) {}

  /** The caller's right to the run has been checked. */
  async execute({ id, conversationId, conversationFormat }: ConversationOwner): Promise<ConversationReading> {
    if (conversationId === null) return { kind: 'no_conversation' };
    const format = conversationFormat ?? HEADRACE_EVENTS_FORMAT;
    const normalizer = this.normalizers.find(format);
    if (!normalizer) return { kind: 'unsupported_format', format };
    const steps = await this.fold(id, normalizer);
    if (steps === 'no_log') return { kind: 'pruned' };
    return { kind: 'found', conversation: { conversation_id: conversationId, steps } };
  }

  /**
   * The conversation that several runs share, one after the other. `runs` is not empty, oldest first, and the caller's
   * right to each has been checked. Two round trips a run, one when it is stored. A single run is never too large: its
   * own conversation would be no smaller.
   */
  async executeAll(runs: readonly ConversationOwner[]): Promise<ConversationReading> {
    const steps: Step[] = [];
    const taken = new Set<string>();
    let conversationId: string | null = null;
    let hasPruned = false;
    let bytes = 0;
    const start = this.clock.now().getTime();
    for (const [index, run] of runs.entries()) {
      if (bytes > MAX_BYTES || this.clock.now().getTime() - start > MAX_READING_MS) return { kind: 'too_large' };
      const reading = await this.execute(run);
      if (reading.kind === 'unsupported_format') return reading;
      if (reading.kind === 'pruned') hasPruned = true;
      if (reading.kind !== 'found') continue;
      conversationId = reading.conversation.conversation_id;
      // Set-up steps count anew in every run, and agents may name turns as they like.
      for (const step of reading.conversation.steps) {
        const id = taken.has(step.id) ? `${run.id}-${step.id}` : step.id;
        taken.add(id);
        steps.push({ ...step, id });
      }
      // Whatever the last one adds, nothing is read after it.
      if (index < runs.length - 1) bytes += Buffer.byteLength(JSON.stringify(reading.conversation.steps));
    }
    if (conversationId === null) return { kind: hasPruned ? 'pruned' : 'no_conversation' };
    return { kind: 'found', conversation: { conversation_id: conversationId, steps } };
  }

  /** Every run has a first event: a log without any was pruned. */
  private async fold(runId: string, normalizer: ConversationNormalizer): Promise<Step[] | 'no_log'> {
    const stored = await this.folds.load(runId, normalizer);
    const from = stored.seq;
    const folding = normalizer.open(stored);
    for (let full = true; full;) {
      const events = await this.log.read(runId, folding.state.seq, PAGE_EVENTS);
      folding.add(events);
      full = events.length === PAGE_EVENTS;
    }
    if (folding.state.seq === 0) return 'no_log';
    const read = folding.state.seq - from;
    if (read > 0 && (folding.isSettled || read >= STORE_AFTER_EVENTS)) {
      // Stored folds only save work: a reader gets the conversation although they could not be written.
      await this.folds.save(runId, normalizer, folding).catch((error: unknown) => {
        this.logger.warn(
          `The fold of run ${runId} was not stored: ${error instanceof Error ? error.message : String(error)}`,
        );
      });
    }
    return folding.render();
  }
}
