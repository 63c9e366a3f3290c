export { AnswersJobsModule, AnswersModule } from './answers.module.js';
export { RunAnswers } from './application/run-answers.js';
export { SendAnswers } from './application/send-answers.js';
export { ANSWER_PARTS, type AnswerPart, type AnswerTarget, type ReactionSubject } from './domain/answer.js';
