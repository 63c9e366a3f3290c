export { AnswersHttpModule, AnswersJobsModule, AnswersModule } from './answers.module.js';
export { RunAnswers } from './application/run-answers.js';
export { SendAnswers } from './application/send-answers.js';
export { SendComments } from './application/send-comments.js';
export type { AnswerPart, AnswerTarget, ReactionSubject } from './domain/answer.js';
