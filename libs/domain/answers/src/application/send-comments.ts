import { Injectable, Logger } from '@nestjs/common';
import { Clock } from '#platform/kernel';
import { Database } from '#platform/persistence';
import { RunLogStore, RunTransitions } from '#execution/executions';
import { ATTEMPT_MS, CLOCK_TOLERANCE_MS, LEASE_MS, limitPause } from '../domain/attempt.js';
import { AnswerFailure } from '../domain/answer-failure.js';
import { delayAfter, MAX_ATTEMPTS } from '../domain/retry-delay.js';
import { AnswersStore, LeaseLostError } from '../persistence/answers.store.js';
import { type ClaimedComment, CommentsStore } from '../persistence/comments.store.js';
import { placeOf, worksForEvent } from '../domain/answer.js';
import { OpenForge } from './open-forge.js';
import { OpenSlack } from './open-slack.js';
import { NOT_FOR_EVENT } from './run-comments.js';

/** Writes the comments that agents have asked for. One that was created before a crash, and not stored, is found by its mark. */
@Injectable()
export class SendComments {
  private readonly logger = new Logger(SendComments.name);

  constructor(
    private readonly database: Database,
    private readonly store: CommentsStore,
    private readonly answers: AnswersStore,
    private readonly forges: OpenForge,
    private readonly slack: OpenSlack,
    private readonly transitions: RunTransitions,
    private readonly log: RunLogStore,
    private readonly clock: Clock,
  ) {}

  /** Each must be passed to {@link send} immediately. */
  claim(limit: number): Promise<ClaimedComment[]> {
    return this.store.claim(limit, LEASE_MS);
  }

  async send(comment: ClaimedComment, signal: AbortSignal): Promise<void> {
    try {
      await this.write(comment, AbortSignal.any([signal, AbortSignal.timeout(ATTEMPT_MS)]));
    } catch (error) {
      if (error instanceof LeaseLostError || signal.aborted) return;
      const failure = AnswerFailure.of(error);
      // Of a fault the lease is the pause, until the last attempt.
      if (failure === error || comment.attempts >= MAX_ATTEMPTS) await this.handle(comment, failure);
      if (failure !== error) throw error;
    }
  }

  private async write(comment: ClaimedComment, signal: AbortSignal): Promise<void> {
    const { runId, mark, body, attempts, createdAt } = comment;
    const run = await this.answers.readRun(comment);
    if (!run) return;
    if (!worksForEvent(run)) throw new AnswerFailure('refused', NOT_FOR_EVENT);
    const opener = comment.provider === 'slack' ? this.slack : this.forges;
    const forge = await opener.open(comment, run, signal);
    const after = new Date(createdAt.getTime() - CLOCK_TOLERANCE_MS);
    const known = attempts === 1 ? null : await forge.findComment(runId, mark, after);
    const id = known ?? (await forge.createComment(forge.requestedContentOf(runId, mark, body)));
    await this.store.written(comment, id);
  }

  private async handle(comment: ClaimedComment, failure: AnswerFailure): Promise<void> {
    const { attempts } = comment;
    const { kind, message, until } = failure;
    if (kind === 'limited' && until !== null)
      return this.store.retry(comment, attempts - 1 || 1, limitPause(until, this.clock.now()));
    if (kind !== 'refused' && attempts < MAX_ATTEMPTS)
      return this.store.retry(comment, attempts, delayAfter(attempts, Math.random()));
    try {
      await this.refuse(comment, message);
    } catch (error) {
      if (!(error instanceof LeaseLostError)) throw error;
    }
  }

  /** The agent may not wait for it any more: the timeline of the run says so. */
  private async refuse(comment: ClaimedComment, message: string): Promise<void> {
    const { runId, provider } = comment;
    this.logger.warn(`A comment of the run ${runId} is not added to ${placeOf(comment)}: ${message}`);
    await this.database.transaction(async (tx) => {
      // Before the comment, as in all transactions that change a run.
      await this.transitions.lock(tx, runId);
      await this.store.refused(tx, comment, message);
      const data = { provider, target: placeOf(comment), parts: ['requested_comment'], message };
      await this.log.append(tx, runId, null, [{ kind: 'answer_failed', data }]);
    });
  }
}
