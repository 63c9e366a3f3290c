import { asArray, asObject, asText, textOf, type JsonObject } from './json.js';
import { ANSWER_TOKENS, event, type ModelDialect, type AnswerStep } from './model-dialect.js';

const stopReason = (step: AnswerStep): string => (step.kind === 'tool' ? 'tool_use' : 'end_turn');

function block(step: AnswerStep, id: string): object {
  return step.kind === 'tool'
    ? { type: 'tool_use', id: `toolu_${id}`, name: step.name, input: step.args }
    : { type: 'text', text: step.kind === 'text' ? step.text : '' };
}

const head = (model: string, id: string) => ({
  id: `msg_${id}`,
  type: 'message',
  role: 'assistant',
  model,
  stop_sequence: null,
});

/** Anthropic's Messages. */
export const anthropicMessages: ModelDialect = {
  asks: (path) => path.endsWith('/v1/messages'),
  read(body) {
    const messages = asArray(body['messages']).map(asObject);
    const resultsIn = ({ content }: JsonObject): number =>
      asArray(content).filter((part) => asObject(part)['type'] === 'tool_result').length;
    // Agents add reminders to the results of tools.
    const at = messages.findLastIndex(
      (message) => message['role'] === 'user' && textOf(message['content']) !== '' && resultsIn(message) === 0,
    );
    return {
      model: asText(body['model']),
      tools: asArray(body['tools'])
        .map(asObject)
        .map(({ name, input_schema: schema }) => ({ name: asText(name), schema: asObject(schema) })),
      userText: textOf(messages[at]?.['content']),
      toolResults: messages.slice(at + 1).reduce((sum, message) => sum + resultsIn(message), 0),
      isStream: body['stream'] === true,
    };
  },
  stream(step, model, id) {
    const tell = (type: string, data: object): string => event({ type, ...data }, type);
    const usage = { input_tokens: ANSWER_TOKENS.input, output_tokens: 1 };
    const message = { ...head(model, id), content: [], stop_reason: null, usage };
    const start = tell('message_start', { message });
    if (step.kind === 'hang') return start;
    const delta =
      step.kind === 'tool'
        ? { type: 'input_json_delta', partial_json: JSON.stringify(step.args) }
        : { type: 'text_delta', text: step.text };
    const empty = step.kind === 'tool' ? { ...block(step, id), input: {} } : { type: 'text', text: '' };
    return [
      start,
      tell('content_block_start', { index: 0, content_block: empty }),
      tell('content_block_delta', { index: 0, delta }),
      tell('content_block_stop', { index: 0 }),
      tell('message_delta', {
        delta: { stop_reason: stopReason(step), stop_sequence: null },
        usage: { output_tokens: ANSWER_TOKENS.output },
      }),
      tell('message_stop', {}),
    ].join('');
  },
  error: (_status, type, message) => ({ type: 'error', error: { type, message } }),
  quota: {
    status: 400,
    type: 'invalid_request_error',
    message:
      'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.',
  },
  whole: (step, model, id) => ({
    ...head(model, id),
    content: [block(step, id)],
    stop_reason: stopReason(step),
    usage: { input_tokens: ANSWER_TOKENS.input, output_tokens: ANSWER_TOKENS.output },
  }),
};
