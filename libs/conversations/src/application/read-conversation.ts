import { Injectable, Logger } from '@nestjs/common';
import { type Run, RunLog } from '#libs/runs';
import type { ConversationResponse, Step } from '../domain/conversation.js';
import type { ConversationNormalizer } from '../domain/conversation-normalizer.js';
import { ConversationFolds } from '../persistence/conversation-folds.js';
import { NormalizerRegistry } from './normalizer-registry.js';
import { HEADRACE_EVENTS_FORMAT } from './normalizers/headrace-events.normalizer.js';

const PAGE_EVENTS = 1000;
/** A turn that goes on is stored too when so much of it was read: the next reader need not fold that again. */
const STORE_AFTER_EVENTS = 2000;

export type ConversationReading =
  | { readonly kind: 'found'; readonly conversation: ConversationResponse }
  /** 404: no session of an agent has begun yet. */
  | { readonly kind: 'no_conversation' }
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
  ) {}

  /** The caller's right to the run has been checked. */
  async execute({ id, conversationId, conversationFormat }: ConversationOwner): Promise<ConversationReading> {
    if (conversationId === null) return { kind: 'no_conversation' };
    const format = conversationFormat ?? HEADRACE_EVENTS_FORMAT;
    const normalizer = this.normalizers.find(format);
    if (!normalizer) return { kind: 'unsupported_format', format };
    const steps = await this.fold(id, normalizer);
    return { kind: 'found', conversation: { conversation_id: conversationId, steps } };
  }

  private async fold(runId: string, normalizer: ConversationNormalizer): Promise<Step[]> {
    const stored = await this.folds.load(runId, normalizer);
    const from = stored.seq;
    const folding = normalizer.open(stored);
    for (let full = true; full;) {
      const events = await this.log.read(runId, folding.state.seq, PAGE_EVENTS);
      folding.add(events);
      full = events.length === PAGE_EVENTS;
    }
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
