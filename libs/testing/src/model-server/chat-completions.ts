import { asArray, asObject, asText, textOf } from './json.js';
import { ANSWER_TOKENS, event, type ModelDialect, type AnswerStep } from './model-dialect.js';

const USAGE = {
  prompt_tokens: ANSWER_TOKENS.input,
  completion_tokens: ANSWER_TOKENS.output,
  total_tokens: ANSWER_TOKENS.input + ANSWER_TOKENS.output,
};

const finishReason = (step: AnswerStep): string => (step.kind === 'tool' ? 'tool_calls' : 'stop');

function message(step: AnswerStep, id: string): object {
  if (step.kind !== 'tool') return { role: 'assistant', content: step.kind === 'text' ? step.text : '' };
  const call = { name: step.name, arguments: JSON.stringify(step.args) };
  return { role: 'assistant', tool_calls: [{ index: 0, id: `call_${id}`, type: 'function', function: call }] };
}

/** The Chat Completions that most providers understand. */
export const chatCompletions: ModelDialect = {
  asks: (path) => path.endsWith('/chat/completions'),
  read(body) {
    const messages = asArray(body['messages']).map(asObject);
    const user = messages.findLastIndex(({ role }) => role === 'user');
    return {
      model: asText(body['model']),
      tools: asArray(body['tools'])
        .map((tool) => asObject(asObject(tool)['function']))
        .map(({ name, parameters }) => ({ name: asText(name), schema: asObject(parameters) })),
      userText: textOf(messages[user]?.['content']),
      toolResults: messages.slice(user + 1).filter(({ role }) => role === 'tool').length,
      isStream: body['stream'] === true,
    };
  },
  stream(step, model, id) {
    const chunk = (choices: readonly object[], more: object = {}): string =>
      event({ id: `chat_${id}`, object: 'chat.completion.chunk', created: 1, model, choices, ...more });
    const choice = (delta: object, reason: string | null = null): string =>
      chunk([{ index: 0, delta, finish_reason: reason }]);
    if (step.kind === 'hang') return choice({ role: 'assistant', content: '' });
    return [
      choice(message(step, id)),
      choice({}, finishReason(step)),
      chunk([], { usage: USAGE }),
      'data: [DONE]\n\n',
    ].join('');
  },
  whole: (step, model, id) => ({
    id: `chat_${id}`,
    object: 'chat.completion',
    created: 1,
    model,
    choices: [{ index: 0, message: message(step, id), finish_reason: finishReason(step) }],
    usage: USAGE,
  }),
};
