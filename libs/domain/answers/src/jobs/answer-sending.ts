import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { Settings } from '#platform/config';
import { BackgroundTasks, type PeriodicTask } from '#platform/jobs';
import { SEND_ANSWERS_TASK } from '../application/answer-tasks.js';
import { SendAnswers } from '../application/send-answers.js';
import type { ClaimedAnswer } from '../domain/answer.js';

const MAX_CONCURRENT = 16;

/** Each run of the task begins what can begin, and the end of an attempt causes a run. */
@Injectable()
export class AnswerSending implements OnModuleDestroy {
  private readonly task: PeriodicTask;
  private readonly ending = new AbortController();
  private readonly attempts = new Set<Promise<void>>();

  constructor(
    private readonly answers: SendAnswers,
    private readonly settings: Settings,
    tasks: BackgroundTasks,
  ) {
    this.task = tasks.implement(SEND_ANSWERS_TASK, () => this.beginAttempts());
  }

  /** Lets the attempts under way end within the grace period, then aborts them: another process repeats them. */
  async onModuleDestroy(): Promise<void> {
    await this.task.stop();
    const timeout = setTimeout(() => this.ending.abort(), this.settings.shutdownGrace);
    await Promise.all(this.attempts);
    clearTimeout(timeout);
  }

  private async beginAttempts(): Promise<void> {
    const free = MAX_CONCURRENT - this.attempts.size;
    if (free === 0) return;
    for (const answer of await this.answers.claim(free)) this.begin(answer);
  }

  private begin(answer: ClaimedAnswer): void {
    const attempt = this.answers
      .send(answer, this.ending.signal)
      .catch((error: unknown) => this.task.report(error))
      .finally(() => {
        this.attempts.delete(attempt);
        this.task.wake();
      });
    this.attempts.add(attempt);
  }
}
