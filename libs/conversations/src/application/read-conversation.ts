import { Injectable, Logger } from '@nestjs/common';
import type { Caller } from '#libs/auth';
import { RunLog } from '#libs/runs';
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
  /** 404: no such run, as far as the caller may know. */
  | { readonly kind: 'unknown' }
  /** 403. */
  | { readonly kind: 'not_yours' }
  /** 404: the run's agent has not said anything yet. */
  | { readonly kind: 'no_conversation' }
  /** 422. */
  | { readonly kind: 'unsupported_format'; readonly format: string };

/** The conversation of a run: what is stored of its fold, gone on with over the rest of the log. */
@Injectable()
export class ReadConversation {
  private readonly logger = new Logger(ReadConversation.name);

  constructor(
    private readonly log: RunLog,
    private readonly normalizers: NormalizerRegistry,
    private readonly folds: ConversationFolds,
  ) {}

  async execute(caller: Caller, runId: string): Promise<ConversationReading> {
    const lookup = await this.log.findRun(caller, runId);
    if (lookup.kind !== 'found') return lookup;
    const { conversationId } = lookup.run;
    if (conversationId === null) return { kind: 'no_conversation' };
    const format = lookup.run.conversationFormat ?? HEADRACE_EVENTS_FORMAT;
    const normalizer = this.normalizers.find(format);
    if (!normalizer) return { kind: 'unsupported_format', format };
    const steps = await this.fold(lookup.run.id, normalizer);
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
