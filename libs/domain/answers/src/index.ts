export { AnswersHttpModule, AnswersJobsModule, AnswersModule } from './answers.module.js';
export { AnsweredThreads } from './application/answered-threads.js';
export { SlackResponses } from './adapters/slack-responses.js';
export { RunAnswers } from './application/run-answers.js';
export { SendAnswers } from './application/send-answers.js';
export { SendComments } from './application/send-comments.js';
export type { AnswerPart, AnswerTarget, ReactionSubject } from './domain/answer.js';
