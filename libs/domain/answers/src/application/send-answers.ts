import { createHash } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import { Settings } from '#platform/config';
import { Clock } from '#platform/kernel';
import { Database } from '#platform/persistence';
import { RunOutcomesStore } from '#domain/notifications';
import { ENDED_STATES, RunLogStore, RunTransitions } from '#execution/executions';
import { ATTEMPT_MS, CLOCK_TOLERANCE_MS, LEASE_MS, limitPause, PAUSE_MS } from '../domain/attempt.js';
import { checkOf } from '../domain/answer-text.js';
import { AnswerFailure } from '../domain/answer-failure.js';
import {
  type AnsweredRun,
  ANSWER_PARTS,
  type AnswerPart,
  type CheckUpdate,
  type ClaimedAnswer,
  EVENT_SOURCES,
  isFinal,
  placeOf,
  worksForEvent,
} from '../domain/answer.js';
import { delayAfter, MAX_ATTEMPTS } from '../domain/retry-delay.js';
import type { CheckedAnswers, ForgeAnswers } from '../adapters/forge-answers.js';
import { AnswersStore, LeaseLostError, type ReadRun } from '../persistence/answers.store.js';
import { OpenForge } from './open-forge.js';
import { OpenSlack } from './open-slack.js';

const ENDED: readonly string[] = ENDED_STATES;
/** Of a run that works for somebody else. */
const NOTHING_SHOWN = {
  statusMessage: null,
  approval: null,
  chatDecision: null,
  pullRequests: [],
  result: null,
} as const;

interface Answering {
  readonly answer: ClaimedAnswer;
  readonly run: ReadRun;
  readonly shown: AnsweredRun;
  readonly forge: ForgeAnswers;
  /** Null: a thread has no checks. */
  readonly checks: CheckedAnswers | null;
}

/**
 * Writes what runs do on the issues and pull requests, and in the threads, that they work on. One comment and one check of each run: what was created
 * before a crash, and not stored, is found by its mark.
 */
@Injectable()
export class SendAnswers {
  private readonly logger = new Logger(SendAnswers.name);

  constructor(
    private readonly database: Database,
    private readonly store: AnswersStore,
    private readonly forges: OpenForge,
    private readonly slack: OpenSlack,
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
      const failure = AnswerFailure.of(error);
      // Of a fault the lease is the pause, until the last attempt.
      if (failure === error || answer.attempts >= MAX_ATTEMPTS) await this.handleHeld(answer, failure);
      if (failure !== error) throw error;
    }
  }

  private async handleHeld(answer: ClaimedAnswer, failure: AnswerFailure): Promise<void> {
    try {
      await this.handle(answer, failure);
    } catch (error) {
      if (!(error instanceof LeaseLostError)) throw error;
    }
  }

  private async write(answer: ClaimedAnswer, run: ReadRun, signal: AbortSignal): Promise<void> {
    const parts = answer.parts.filter((part) => part === 'reaction' || isShown(answer, run));
    if (parts.length === 0) return;
    const end = AbortSignal.any([signal, AbortSignal.timeout(ATTEMPT_MS)]);
    let answering: Answering;
    try {
      const checks = answer.provider === 'slack' ? null : await this.forges.open(answer, run, end);
      const forge = checks ?? (await this.slack.open(answer, run, end));
      answering = { answer, run, forge, checks, shown: await this.shownOf(run, forge.maxText) };
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return this.refuse(answer, parts, error.message);
    }
    const writers: readonly (readonly [AnswerPart, () => Promise<void>])[] = [
      ['reaction', () => this.react(answering)],
      ['comment', () => this.comment(answering)],
      ['check', () => this.check(answering)],
    ];
    for (const [part, write] of writers) {
      if (!parts.includes(part)) continue;
      try {
        await write();
      } catch (error) {
        if (!isRefusal(error)) throw error;
        await this.refuse(answer, [part], error.message);
      }
    }
  }

  private async shownOf(run: ReadRun, maxText: number): Promise<AnsweredRun> {
    const title = EVENT_SOURCES.includes(run.source) ? run.title : null;
    const isForEvent = worksForEvent(run);
    if (!isForEvent) return { ...run, ...NOTHING_SHOWN, title, isForEvent };
    const hasEnded = ENDED.includes(run.state);
    const outcome = hasEnded ? await this.outcomes.find(run.id, run.seq, maxText) : null;
    const pullRequests = run.pullRequests.filter(({ isAfterEvent: isLastInputOfEvent }) =>
      worksForEvent({ source: run.source, isLastInputOfEvent }),
    );
    return { ...run, title, isForEvent, pullRequests, result: outcome?.result ?? null };
  }

  private async react({ answer, forge, shown }: Answering): Promise<void> {
    const { reactions } = answer;
    const received = forge.reactsToEnd ? reactions : [];
    if (reactions.length > 0) {
      for (const subject of reactions) await forge.react(subject, 'received');
      await this.store.storeReactions(answer, reactions, received);
    }
    const waiting = [...new Set([...answer.acknowledged, ...received])];
    if (waiting.length === 0 || !shown.isForEvent || !ENDED.includes(shown.state)) return;
    for (const subject of waiting) await forge.react(subject, shown.state === 'SUCCEEDED' ? 'succeeded' : 'failed');
    await this.store.endReactions(answer, waiting);
  }

  private async comment({ answer, shown, forge }: Answering): Promise<void> {
    const text = forge.contentOf(shown, answer.mark);
    const hash = hashOf(text);
    if (answer.commentHash === hash) return;
    const after = new Date(answer.createdAt.getTime() - CLOCK_TOLERANCE_MS);
    const known = answer.commentId ?? (await forge.findComment(shown.id, answer.mark, after));
    if (known === null) return this.store.storeComment(answer, await forge.createComment(text), hash);
    // Somebody does not want it, so it is not created again.
    if (!(await forge.updateComment(known, text)))
      throw new AnswerFailure('refused', 'The comment of the run was deleted; no other one is written.');
    await this.store.storeComment(answer, known, hash);
  }

  private async check(answering: Answering): Promise<void> {
    const { answer, run, shown, checks: forge } = answering;
    const found = pullRequestOf(answer, run);
    if (found === null || forge === null) return;
    const { number: pullRequest, isOfRun } = found;
    const { checkSha: known } = answer;
    const update = checkOf(shown, { publicUrl: this.settings.publicUrl, max: forge.maxText });
    const hash = hashOf(JSON.stringify([pullRequest, update]));
    if (answer.checkHash === hash) return;
    // The check stays at the commit with which the run began. Its result is also for what the run has pushed, but not for commits
    // of others, which it may not have seen.
    const head = known === null || (isFinal(update) && isOfRun) ? await forge.headOf(pullRequest) : known;
    if (known !== null && known !== head) await this.endCheck(answering, forge, known, update);
    const written = await forge.writeCheck(shown.id, head, head === known ? answer.checkId : null, update);
    await this.store.storeCheck(answer, written.id, head, hash);
  }

  /** Of a commit that is no longer the head: it may be gone. */
  private async endCheck(
    { answer, shown }: Answering,
    forge: CheckedAnswers,
    sha: string,
    update: CheckUpdate,
  ): Promise<void> {
    try {
      await forge.writeCheck(shown.id, sha, answer.checkId, update);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      this.logger.log(`The check of the run ${shown.id} stays at the commit ${sha}: ${error.message}`);
    }
  }

  private async handle(answer: ClaimedAnswer, { kind, message, until }: AnswerFailure): Promise<void> {
    const { attempts, runId } = answer;
    if (kind === 'limited' && until !== null) {
      this.logger.log(`An answer of the run ${runId} waits: ${message}`);
      return this.store.retry(answer, attempts - 1, limitPause(until, this.clock.now()));
    }
    if (attempts < MAX_ATTEMPTS) return this.store.retry(answer, attempts, delayAfter(attempts, Math.random()));
    await this.refuse(answer, answer.parts, message);
    await this.store.finish(answer, answer.changes, PAUSE_MS);
  }

  /** Ends these parts, and says so once in the timeline of the run. */
  private async refuse(answer: ClaimedAnswer, parts: readonly AnswerPart[], message: string): Promise<void> {
    const { runId, provider } = answer;
    this.logger.warn(`The run ${runId} is not shown at ${placeOf(answer)} (${parts.join(', ')}): ${message}`);
    await this.database.transaction(async (tx) => {
      // Before the answer, as in all transactions that change a run.
      await this.transitions.lock(tx, runId);
      await this.store.refuse(tx, answer, parts);
      const data = {
        provider,
        target: `${placeOf(answer)}`,
        parts: ANSWER_PARTS.filter((one) => parts.includes(one)),
        message,
      };
      await this.log.append(tx, runId, null, [{ kind: 'answer_failed', data }]);
    });
  }
}

/** A run that waits for later events may be replaced, and then it was nothing that a reader has to know. */
const isShown = ({ commentId, checkSha }: ClaimedAnswer, { state, hasStarted, isDelayed }: ReadRun): boolean =>
  !isDelayed && (commentId !== null || checkSha !== null || hasStarted || state !== 'CANCELLED');

const isRefusal = (error: unknown): error is AnswerFailure =>
  error instanceof AnswerFailure && error.kind === 'refused';

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** The pull request whose head has the check: the one of the event, or the newest one that the run has created in the repository. */
function pullRequestOf(
  { kind, number, repository, checkSha }: ClaimedAnswer,
  { ownPullRequests, answeredNumbers }: ReadRun,
): { readonly number: string; readonly isOfRun: boolean } | null {
  const path = new RegExp(`^https?://[^/]+/${escaped(repository)}/(?:-/)?(?:pull|merge_requests)/(\\d+)$`, 'i');
  const created = ownPullRequests.flatMap((url) => path.exec(url)?.[1] ?? []);
  if (kind === 'pull_request') return { number, isOfRun: created.includes(number) };
  const newest = created.at(-1);
  if (newest === undefined) return null;
  if (!answeredNumbers.includes(newest)) return { number: newest, isOfRun: true };
  // Another answer has the checks of the pull request; here only the one ends that was begun here.
  return checkSha === null ? null : { number: newest, isOfRun: false };
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
