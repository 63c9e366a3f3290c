import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { forgesOf } from '#domain/runs';
import type { AnswerTarget, ReactionSubject } from '../domain/answer.js';
import { AnswersStore, type RecordedRun } from '../persistence/answers.store.js';

interface ServerAddress {
  /** Of the page of the repository; empty when the event has none. */
  readonly host: string;
}

/** For the library that starts runs for events. */
@Injectable()
export class RunAnswers {
  constructor(
    private readonly store: AnswersStore,
    private readonly settings: Settings,
  ) {}

  /**
   * From now on the issue, pull request or thread shows what these runs do, if the service has access to its server. `reaction`: what the event is acknowledged at. Idempotent; one
   * round trip.
   */
  async record(
    runs: readonly RecordedRun[],
    target: AnswerTarget & ServerAddress,
    reaction: ReactionSubject | null,
  ): Promise<void> {
    const forge = forgesOf(this.settings).find(({ type }) => type === target.provider);
    // Another server can have a repository with the same name.
    if (forge && new URL(forge.url).host !== target.host) return;
    // Two automations may have continued one run.
    const byRun = new Map<string, RecordedRun>();
    for (const run of runs) {
      const known = byRun.get(run.runId);
      byRun.set(run.runId, {
        ...run,
        parts: [...new Set([...(known?.parts ?? []), ...run.parts])],
        launchKeys: [...(known?.launchKeys ?? []), ...run.launchKeys],
      });
    }
    const answered = [...byRun.values()].filter(({ parts }) => parts.length > 0);
    if (answered.length > 0) await this.store.record(answered, target, reaction);
  }
}
