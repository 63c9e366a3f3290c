import { createHash } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import { Settings } from '#platform/config';
import { Clock } from '#platform/kernel';
import { Database } from '#platform/persistence';
import { RunOutcomesStore } from '#domain/notifications';
import { ENDED_STATES, RunLogStore, RunTransitions } from '#execution/executions';
import { checkOf, commentOf, markOf } from '../domain/answer-text.js';
import { AnswerFailure } from '../domain/answer-failure.js';
import { type AnsweredRun, ANSWER_PARTS, type AnswerPart, type ClaimedAnswer, isFinal } from '../domain/answer.js';
import { delayAfter, MAX_ATTEMPTS } from '../domain/retry-delay.js';
import type { ForgeAnswers } from '../adapters/forge-answers.js';
import { AnswersStore, LeaseLostError, type ReadRun } from '../persistence/answers.store.js';
import { OpenForge } from './open-forge.js';

const LEASE_MS = 90_000;
/** Less than the lease, so that no other process writes at the same time. */
const ATTEMPT_MS = 60_000;
/** Between two edits: the newest state is written, and not each one. */
const PAUSE_MS = 3_000;
/** The clock of the forge may differ from that of the database. */
const CLOCK_TOLERANCE_MS = 3_600_000;

interface Answering {
  readonly answer: ClaimedAnswer;
  readonly run: ReadRun;
  readonly shown: AnsweredRun;
  readonly forge: ForgeAnswers;
}

/**
 * Writes what runs do on the issues and pull requests that they work on. One comment and one check of each run: what was created
 * before a crash, and not stored, is found by its mark.
 */
@Injectable()
export class SendAnswers {
  private readonly logger = new Logger(SendAnswers.name);

  constructor(
    private readonly database: Database,
    private readonly store: AnswersStore,
    private readonly forges: OpenForge,
    private readonly outcomes: RunOutcomesStore,
    private readonly transitions: RunTransitions,
    private readonly log: RunLogStore,
    private readonly clock: Clock,
    private readonly settings: Settings,
  ) {}

  /** Each must be passed to {@link send} immediately. */
  claim(limit: number): Promise<ClaimedAnswer[]> {
    return this.store.claim(limit, LEASE_MS);
  }

  async send(answer: ClaimedAnswer, signal: AbortSignal): Promise<void> {
    const run = await this.store.readRun(answer);
    if (!run) return;
    try {
      if (answer.parts.length > 0) await this.write(answer, run, signal);
      await this.store.finish(answer, answer.changes, PAUSE_MS);
    } catch (error) {
      if (error instanceof LeaseLostError || signal.aborted) return;
      if (!(error instanceof AnswerFailure)) throw error;
      await this.handle(answer, error);
    }
  }

  private async write(answer: ClaimedAnswer, run: ReadRun, signal: AbortSignal): Promise<void> {
    const end = AbortSignal.any([signal, AbortSignal.timeout(ATTEMPT_MS)]);
    let answering: Answering;
    try {
      const forge = await this.forges.open(answer, run, end);
      answering = { answer, run, forge, shown: await this.shownOf(run, forge.maxText) };
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return this.refuse(answer, answer.parts, error.message);
    }
    const writers: readonly (readonly [AnswerPart, () => Promise<void>])[] = [
      ['reaction', () => this.react(answering)],
      ['comment', () => this.comment(answering)],
      ['check', () => this.check(answering)],
    ];
    for (const [part, write] of writers) {
      if (!answer.parts.includes(part)) continue;
      try {
        await write();
      } catch (error) {
        if (!isRefusal(error)) throw error;
        await this.refuse(answer, [part], error.message);
      }
    }
  }

  private async shownOf(run: ReadRun, maxText: number): Promise<AnsweredRun> {
    const hasEnded = (ENDED_STATES as readonly string[]).includes(run.state);
    const outcome = hasEnded ? await this.outcomes.find(run.id, run.seq, maxText) : null;
    return { ...run, result: outcome?.result ?? null };
  }

  private async react({ answer, forge }: Answering): Promise<void> {
    if (answer.reactions.length === 0) return;
    for (const subject of answer.reactions) await forge.react(subject);
    await this.store.storeReactions(answer, answer.reactions);
  }

  private async comment({ answer, shown, forge }: Answering): Promise<void> {
    const text = commentOf(shown, answer.mark, { publicUrl: this.settings.publicUrl, max: forge.maxText });
    const hash = hashOf(text);
    if (answer.commentHash === hash) return;
    const after = new Date(answer.createdAt.getTime() - CLOCK_TOLERANCE_MS);
    const known = answer.commentId ?? (await forge.findComment(markOf(shown.id, answer.mark), after));
    if (known === null) return this.store.storeComment(answer, await forge.createComment(text), hash);
    // Somebody does not want it, so it is not created again.
    if (!(await forge.updateComment(known, text)))
      throw new AnswerFailure('refused', 'The comment of the run was deleted; no other one is written.');
    await this.store.storeComment(answer, known, hash);
  }

  private async check({ answer, run, shown, forge }: Answering): Promise<void> {
    const pullRequest = pullRequestOf(answer, run);
    if (pullRequest === null) return;
    const { checkSha: known } = answer;
    const update = checkOf(shown, { publicUrl: this.settings.publicUrl, max: forge.maxText });
    const hash = hashOf(JSON.stringify([pullRequest, update]));
    if (answer.checkHash === hash) return;
    // While the run works, its check stays at the commit with which it began; its result is for the newest one, too.
    const head = known === null || isFinal(update) ? await forge.headOf(pullRequest) : known;
    for (const sha of known === null || known === head ? [head] : [known, head]) {
      const written = await forge.writeCheck(shown.id, sha, sha === known ? answer.checkId : null, update);
      if (sha === head) await this.store.storeCheck(answer, written.id, sha, hash);
    }
  }

  private async handle(answer: ClaimedAnswer, { kind, message, until }: AnswerFailure): Promise<void> {
    const { attempts, runId } = answer;
    if (kind === 'limited' && until !== null) {
      this.logger.log(`An answer of the run ${runId} waits: ${message}`);
      const waitMs = Math.max(PAUSE_MS, until.getTime() - this.clock.now().getTime());
      return this.store.retry(answer, attempts - 1, waitMs);
    }
    if (attempts < MAX_ATTEMPTS) return this.store.retry(answer, attempts, delayAfter(attempts, Math.random()));
    await this.refuse(answer, answer.parts, message);
    await this.store.finish(answer, answer.changes, PAUSE_MS);
  }

  /** Ends these parts, and says so once in the timeline of the run. */
  private async refuse(answer: ClaimedAnswer, parts: readonly AnswerPart[], message: string): Promise<void> {
    const { runId, provider, repository, number } = answer;
    this.logger.warn(`The run ${runId} is not shown at ${repository}#${number} (${parts.join(', ')}): ${message}`);
    await this.database.transaction(async (tx) => {
      // Before the answer, as in all transactions that change a run.
      await this.transitions.lock(tx, runId);
      await this.store.refuse(tx, answer, parts);
      const data = {
        provider,
        target: `${repository}#${number}`,
        parts: ANSWER_PARTS.filter((one) => parts.includes(one)),
        message,
      };
      await this.log.append(tx, runId, null, [{ kind: 'answer_failed', data }]);
    });
  }
}

const isRefusal = (error: unknown): error is AnswerFailure =>
  error instanceof AnswerFailure && error.kind === 'refused';

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** The pull request whose head has the check: the one of the event, or the newest one that the run has created in the repository. */
function pullRequestOf(
  { kind, number, repository }: ClaimedAnswer,
  { pullRequests, answeredNumbers }: ReadRun,
): string | null {
  if (kind === 'pull_request') return number;
  const path = new RegExp(`^https?://[^/]+/${escaped(repository)}/(?:-/)?(?:pull|merge_requests)/(\\d+)$`, 'i');
  const created = pullRequests.flatMap(({ url }) => path.exec(url)?.[1] ?? []).at(-1) ?? null;
  // It has a separate answer with a check.
  return created !== null && answeredNumbers.includes(created) ? null : created;
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
