import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { Settings } from '#platform/config';
import { BackgroundTasks } from '#platform/jobs';
import { SEND_ANSWERS_TASK, SEND_COMMENTS_TASK } from '../application/answer-tasks.js';
import { SendAnswers } from '../application/send-answers.js';
import { SendComments } from '../application/send-comments.js';
import { Attempts } from './attempts.js';

@Injectable()
export class AnswerSending implements OnModuleDestroy {
  private readonly attempts: readonly { stop(): Promise<void> }[];

  constructor(answers: SendAnswers, comments: SendComments, settings: Settings, tasks: BackgroundTasks) {
    this.attempts = [
      new Attempts(tasks, SEND_ANSWERS_TASK, answers, settings),
      new Attempts(tasks, SEND_COMMENTS_TASK, comments, settings),
    ];
  }

  async onModuleDestroy(): Promise<void> {
    await Promise.all(this.attempts.map((one) => one.stop()));
  }
}
