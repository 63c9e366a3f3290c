export { ModelServer, type SeenModelRequest } from './model-server.js';
export { ANSWER_TOKENS } from './model-dialect.js';
