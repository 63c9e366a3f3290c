import { Injectable, Logger } from '@nestjs/common';
import { type RunHead, RunTail } from '#domain/runs';
import type { ConversationFolding } from '../../domain/conversation-normalizer.js';
import { ConversationFolds } from '../../persistence/conversation-folds.js';
import { NormalizerRegistry, HEADRACE_EVENTS_FORMAT } from '../normalizer-registry.js';

const PAGE_EVENTS = 1000;
/** So much read at once is worth storing, for the next process whose clients come. */
const STORE_AFTER_EVENTS = 2000;

/** Brings a folding to a sequence number of its run's log. */
@Injectable()
export class ConversationOpener {
  private readonly logger = new Logger(ConversationOpener.name);

  constructor(
    private readonly tail: RunTail,
    private readonly normalizers: NormalizerRegistry,
    private readonly folds: ConversationFolds,
  ) {}

  /**
   * The conversation at the head's sequence number; null when nothing reads its format. `atSeq` is called on the way
   * with the folding as it was at `wanted`, unless what is stored has gone past that.
   */
  async open(
    head: RunHead,
    wanted: number,
    atWanted: (folding: ConversationFolding) => void,
  ): Promise<ConversationFolding | null> {
    const normalizer = this.normalizers.find(head.conversationFormat ?? HEADRACE_EVENTS_FORMAT);
    if (!normalizer) return null;
    const stored = await this.folds.load(head.runId, normalizer);
    const from = stored.seq;
    const folding = normalizer.open(stored);
    if (from <= wanted) {
      await this.foldUpTo(folding, head.runId, Math.min(wanted, head.lastSeq));
      atWanted(folding);
    }
    await this.foldUpTo(folding, head.runId, head.lastSeq);
    if (folding.state.seq - from >= STORE_AFTER_EVENTS) {
      await this.folds.save(head.runId, normalizer, folding).catch((error: unknown) => {
        this.logger.warn(`The fold of run ${head.runId} was not stored: ${String(error)}`);
      });
    }
    return folding;
  }

  private async foldUpTo(folding: ConversationFolding, runId: string, seq: number): Promise<void> {
    while (folding.state.seq < seq) {
      const events = await this.tail.read(runId, folding.state.seq, Math.min(PAGE_EVENTS, seq - folding.state.seq));
      if (events.length === 0) return;
      folding.add(events);
    }
  }
}
