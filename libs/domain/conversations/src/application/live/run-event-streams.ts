import { performance } from 'node:perf_hooks';
import { Injectable } from '@nestjs/common';
import { CursorCodec } from '#platform/kernel';
import { Settings } from '#platform/config';
import type { RunHead } from '#execution/executions';
import type { ConversationChange } from '../../domain/conversation-view.js';
import { WatchedRuns } from './watched-runs.js';
import type { WatchedRun } from './watched-run.js';

/** Position of a stream in a run's log; timeline and conversation do not advance at the same moments. */
export interface StreamPosition {
  readonly timeline: number;
  readonly conversation: number;
}

export const START: StreamPosition = { timeline: 0, conversation: 0 };

/** One server-sent event; null: a heartbeat. */
export type StreamEvent = {
  readonly event: 'state' | 'timeline' | 'conversation' | 'end';
  readonly id: string;
  /** JSON. */
  readonly data: string;
} | null;

export interface FollowOptions {
  readonly head: RunHead;
  readonly from: StreamPosition;
  readonly isStillAuthorized: () => Promise<boolean>;
  readonly abort: AbortSignal;
}

/** A slow reader gets fewer, larger changes instead of a buffer that grows in memory. */
@Injectable()
export class RunEventStreams {
  private readonly cursors: CursorCodec;

  constructor(
    private readonly runs: WatchedRuns,
    private readonly settings: Settings,
  ) {
    this.cursors = new CursorCodec(`live positions ${settings.secretsKey ?? ''}`);
  }

  /** The position of an event id, which is opaque, signed and valid in every process; null when it is no id of this run. */
  positionOf(runId: string, eventId: string): StreamPosition | null {
    const [timeline, conversation] = this.cursors.decode(eventId, runId) ?? [];
    return typeof timeline === 'number' && typeof conversation === 'number' ? { timeline, conversation } : null;
  }

  isAtEnd({ isEnded, lastSeq, conversationId }: RunHead, { timeline, conversation }: StreamPosition): boolean {
    return isEnded && timeline >= lastSeq && (conversationId === null || conversation >= lastSeq);
  }

  async *follow(options: FollowOptions): AsyncGenerator<StreamEvent> {
    const run = await this.runs.watch(options.head, options.from.conversation);
    try {
      yield* this.streamRun(run, options);
    } finally {
      this.runs.release(run);
    }
  }

  private async *streamRun(
    run: WatchedRun,
    { from, isStillAuthorized, abort }: FollowOptions,
  ): AsyncGenerator<StreamEvent> {
    const { runId } = run.head;
    let { timeline, conversation } = from;
    let sentState = '';
    let checkedAt = performance.now();
    // The messages of a long history have the same position, which is signed once.
    let known = { timeline: -1, conversation: -1, id: '' };
    const event = (kind: NonNullable<StreamEvent>['event'], data: string): StreamEvent => {
      if (known.timeline !== timeline || known.conversation !== conversation)
        known = { timeline, conversation, id: this.cursors.encode([timeline, conversation], runId) };
      return { event: kind, id: known.id, data };
    };
    const end = (reason: 'run_ended' | 'run_deleted' | 'access_ended'): StreamEvent =>
      event('end', JSON.stringify({ run_id: runId, reason }));
    while (!abort.aborted) {
      // Read together: the events that are sent never go beyond the state that is sent before them.
      const { version, head, conversationSeq } = run;
      const changes = head.conversationId === null ? [] : run.view.changedSince(conversation);
      if (!run.exists) {
        yield end('run_deleted');
        return;
      }
      const state = stateData(head);
      if (state !== sentState) yield event('state', state);
      sentState = state;
      for await (const entry of run.timelineAfter(timeline, head.lastSeq)) {
        timeline = entry.seq;
        yield event('timeline', JSON.stringify(entry.event));
      }
      timeline = head.lastSeq;
      for (const [index, change] of changes.entries()) {
        // Only the last change advances the position: a reader that is disconnected before it gets all of them again.
        if (index === changes.length - 1) conversation = conversationSeq;
        yield event('conversation', conversationData(head, change));
      }
      // Without a conversation nothing was sent of it: once it begins, all of it is new.
      conversation = head.conversationId === null ? 0 : conversationSeq;
      if (head.isEnded && conversationSeq === head.lastSeq) {
        yield end('run_ended');
        return;
      }
      const { liveHeartbeat, liveAuthRecheckInterval } = this.settings;
      if (!(await run.changedSince(version, Math.min(liveHeartbeat, liveAuthRecheckInterval), abort))) yield null;
      if (performance.now() - checkedAt >= liveAuthRecheckInterval) {
        if (!(await isStillAuthorized())) {
          yield end('access_ended');
          return;
        }
        checkedAt = performance.now();
      }
    }
  }
}

function stateData({ runId, state, statusMessage, updatedAt }: RunHead): string {
  return JSON.stringify({
    run_id: runId,
    state,
    ...(statusMessage === null ? {} : { status_message: statusMessage }),
    updated_at: updatedAt.toISOString(),
  });
}

function conversationData({ conversationId }: RunHead, { path, step, message }: ConversationChange): string {
  const place = `{"conversation_id":${JSON.stringify(conversationId)},"path":${JSON.stringify(path)},"step":${step}`;
  return message === undefined ? `${place}}` : `${place},"message_index":${message.index},"message":${message.json}}`;
}
