import { Injectable } from '@nestjs/common';
import { numberOfThread } from '../domain/answer.js';
import { AnswersStore } from '../persistence/answers.store.js';

const TS = /^\d{1,12}\.\d{6}$/;

/** Where runs are shown in Slack. */
@Injectable()
export class AnsweredThreads {
  constructor(private readonly store: AnswersStore) {}

  /** Whether the thread has the message of the run. `team`: the workspace of the app. One round trip. */
  async hasRun(
    runId: string,
    { team, channel, threadTs }: { readonly team: string; readonly channel: string; readonly threadTs: string },
  ): Promise<boolean> {
    if (!TS.test(threadTs)) return false;
    const place = { provider: 'slack', repository: `${team}/${channel}`, kind: 'thread' } as const;
    return this.store.isShownAt(runId, { ...place, number: numberOfThread(threadTs) });
  }
}
