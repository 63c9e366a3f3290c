import { Injectable } from '@nestjs/common';
import type { AnswerPart, AnswerTarget, ReactionSubject } from '../domain/answer.js';
import { AnswersStore, type RecordedRun } from '../persistence/answers.store.js';

/** For the library that starts runs for events. */
@Injectable()
export class RunAnswers {
  constructor(private readonly store: AnswersStore) {}

  /**
   * From now on the issue or pull request shows what these runs do. `reaction`: what the event is acknowledged at. Idempotent; one
   * round trip.
   */
  async record(runs: readonly RecordedRun[], target: AnswerTarget, reaction: ReactionSubject | null): Promise<void> {
    // Two automations may have continued one run.
    const parts = new Map<string, AnswerPart[]>();
    for (const run of runs) parts.set(run.runId, [...new Set([...(parts.get(run.runId) ?? []), ...run.parts])]);
    const answered = [...parts].flatMap(([runId, own]) => (own.length > 0 ? [{ runId, parts: own }] : []));
    if (answered.length === 0) return;
    await this.store.record(answered, target, reaction);
  }
}
