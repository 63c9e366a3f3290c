import { asArray, asObject, asText, textOf } from './json.js';
import { ANSWER_TOKENS, event, type ModelDialect, type AnswerStep } from './model-dialect.js';

const USAGE = {
  input_tokens: ANSWER_TOKENS.input,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: ANSWER_TOKENS.output,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: ANSWER_TOKENS.input + ANSWER_TOKENS.output,
};

function item(step: AnswerStep, id: string): object {
  if (step.kind === 'tool')
    return {
      type: 'function_call',
      id: `fc_${id}`,
      call_id: `call_${id}`,
      name: step.name,
      arguments: JSON.stringify(step.args),
      status: 'completed',
    };
  const text = step.kind === 'text' ? step.text : '';
  return {
    type: 'message',
    id: `msg_${id}`,
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text, annotations: [] }],
  };
}

/** OpenAI's Responses. */
export const openaiResponses: ModelDialect = {
  asks: (path) => path.endsWith('/responses'),
  read(body) {
    const input = typeof body['input'] === 'string' ? [{ role: 'user', content: body['input'] }] : body['input'];
    const items = asArray(input).map(asObject);
    const last = items.findLastIndex(({ role }) => role === 'user');
    return {
      model: asText(body['model']),
      tools: asArray(body['tools'])
        .map(asObject)
        .map(({ name, parameters }) => ({ name: asText(name), schema: asObject(parameters) })),
      userText: textOf(items[last]?.['content']),
      toolResults: items.slice(last + 1).filter(({ type }) => asText(type).endsWith('_output')).length,
      isStream: body['stream'] === true,
    };
  },
  stream(step, model, id) {
    const tell = (type: string, data: object): string => event({ type, ...data }, type);
    const response = { id: `resp_${id}`, object: 'response', model };
    const start = tell('response.created', { response: { ...response, status: 'in_progress', output: [] } });
    if (step.kind === 'hang') return start;
    const whole = item(step, id);
    const added = step.kind === 'tool' ? whole : { ...whole, content: [] };
    const delta = step.kind === 'text' ? step.text : undefined;
    return [
      start,
      tell('response.output_item.added', { output_index: 0, item: added }),
      delta === undefined
        ? ''
        : tell('response.output_text.delta', { item_id: `msg_${id}`, output_index: 0, content_index: 0, delta }),
      tell('response.output_item.done', { output_index: 0, item: whole }),
      tell('response.completed', { response: { ...response, status: 'completed', output: [whole], usage: USAGE } }),
    ].join('');
  },
  whole: (step, model, id) => ({
    id: `resp_${id}`,
    object: 'response',
    model,
    status: 'completed',
    output: [item(step, id)],
    usage: USAGE,
  }),
};
