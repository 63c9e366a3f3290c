import { EventEmitter } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { ExecutionsStore, RunTransitions } from '#execution/executions';
import type { CommentAnswer, CommentRequest, CommentTargetAnswer } from '#execution/runner-protocol';
import { Database, DatabaseListener } from '#platform/persistence';
import { type AnswerTarget, MAX_COMMENTS, worksForEvent } from '../domain/answer.js';
import { AnswersStore } from '../persistence/answers.store.js';
import { COMMENTS_CHANNEL, CommentsStore, type RequestedComment } from '../persistence/comments.store.js';
import { OpenForge } from './open-forge.js';
import { OpenSlack } from './open-slack.js';

/** A lost notification costs at most this long. */
const LOOK_AGAIN_MS = 5_000;
const NO_TARGET = 'No issue, pull request or thread has started this run, or its automation has switched comments off.';

/** What a person has asked for elsewhere is not published. */
export const NOT_FOR_EVENT =
  'A person has continued this run elsewhere, so it can add no comment until an event of the issue, pull request or thread continues it.';

/** Comments that an agent asks for: stored with the request, and written by the processor. */
@Injectable()
export class RunComments implements OnModuleInit, OnModuleDestroy {
  /** Events are ids of comments. */
  private readonly notifications = new EventEmitter().setMaxListeners(0);
  private unsubscribe: () => void = () => undefined;

  constructor(
    private readonly database: Database,
    private readonly store: CommentsStore,
    private readonly answers: AnswersStore,
    private readonly forges: OpenForge,
    private readonly slack: OpenSlack,
    private readonly executions: ExecutionsStore,
    private readonly transitions: RunTransitions,
    private readonly listener: DatabaseListener,
  ) {}

  onModuleInit(): void {
    this.unsubscribe = this.listener.subscribe(COMMENTS_CHANNEL, (id) => void this.notifications.emit(id));
  }

  onModuleDestroy(): void {
    this.unsubscribe();
  }

  /** What the agent can comment on, in words; null: nothing, or there is no credential for it. */
  async target(executionId: string, leaseEpoch: number): Promise<CommentTargetAnswer | 'lease_lost'> {
    const runId = await this.executions.renewOfRun(executionId, leaseEpoch);
    if (runId === null) return 'lease_lost';
    const target = await this.store.findTarget(runId);
    const run = target && (await this.answers.readRun({ ...target, runId }));
    const opener = target?.provider === 'slack' ? this.slack : this.forges;
    return { target: run && (await opener.canOpen(target, run)) ? nameOf(target) : null };
  }

  /** Waits for the comment to be written; the request may be repeated. */
  async request(
    executionId: string,
    leaseEpoch: number,
    { key, text, wait: waitSeconds }: Omit<CommentRequest, 'lease_epoch'>,
    abort: AbortSignal,
  ): Promise<CommentAnswer | 'lease_lost'> {
    const runId = await this.executions.renewOfRun(executionId, leaseEpoch);
    if (runId === null) return 'lease_lost';
    const target = await this.store.findTarget(runId);
    const run = target && (await this.answers.readRun({ ...target, runId }));
    if (!run) return { problem: NO_TARGET };
    if (!worksForEvent(run)) return { problem: NOT_FOR_EVENT };
    const requested = await this.database.transaction(async (tx): Promise<RequestedComment | null> => {
      // Two requests at the same time never exceed the limit together.
      await this.transitions.lock(tx, runId);
      const ownKey = `${executionId}/${key}`;
      const known = await this.store.find(tx, runId, ownKey);
      if (known) return known;
      if ((await this.store.count(tx, runId)) >= MAX_COMMENTS) return null;
      return this.store.insert(tx, runId, target.answerId, ownKey, text);
    });
    if (!requested) return { problem: `A run can add at most ${MAX_COMMENTS} comments.` };
    const comment = await this.untilEnded(requested, waitSeconds * 1000, abort);
    if (comment.state === 'refused') return { problem: comment.problem ?? 'It was refused.' };
    return { state: comment.state, target: nameOf(target) };
  }

  private async untilEnded(requested: RequestedComment, waitMs: number, abort: AbortSignal): Promise<RequestedComment> {
    const deadline = performance.now() + waitMs;
    for (let comment = requested; ;) {
      const left = deadline - performance.now();
      if (comment.state !== 'pending' || left <= 0 || abort.aborted) return comment;
      const notified = new AbortController();
      const wake = (): void => notified.abort();
      // Before the database is read, so that no notification is missed.
      this.notifications.on(comment.id, wake);
      try {
        const now = await this.store.read(comment.id);
        if (!now) return comment;
        comment = now;
        const signal = AbortSignal.any([notified.signal, abort]);
        if (comment.state === 'pending')
          await wait(Math.min(left, LOOK_AGAIN_MS), undefined, { signal }).catch(() => undefined);
      } finally {
        this.notifications.off(comment.id, wake);
      }
    }
  }
}

const nameOf = ({ kind, repository, number }: AnswerTarget): string =>
  kind === 'thread'
    ? 'the thread in Slack'
    : `the ${kind === 'issue' ? 'issue' : 'pull request'} ${repository}#${number}`;
