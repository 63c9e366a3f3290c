import { asArray, asObject, asText, textOf, type JsonObject } from './json.js';
import { ANSWER_TOKENS, event, type ModelDialect, type AnswerStep } from './model-dialect.js';

function answer(step: AnswerStep, model: string): JsonObject {
  const part = step.kind === 'tool' ? { functionCall: { name: step.name, args: step.args } } : { text: textIn(step) };
  return {
    candidates: [{ index: 0, content: { role: 'model', parts: [part] }, finishReason: 'STOP' }],
    usageMetadata: {
      promptTokenCount: ANSWER_TOKENS.input,
      candidatesTokenCount: ANSWER_TOKENS.output,
      totalTokenCount: ANSWER_TOKENS.input + ANSWER_TOKENS.output,
    },
    modelVersion: model,
  };
}

const textIn = (step: AnswerStep): string => (step.kind === 'text' ? step.text : '');

/** Google's generateContent. */
export const geminiContents: ModelDialect = {
  asks: (path) => /:(?:streamG|g)enerateContent$/.test(path),
  read(body, path) {
    const contents = asArray(body['contents']).map(asObject);
    const user = contents.findLastIndex(({ role, parts }) => role === 'user' && textOf(parts) !== '');
    const later = contents.slice(user + 1).flatMap(({ parts }) => asArray(parts));
    return {
      model: /models\/([^/:]+):/.exec(path)?.[1] ?? '',
      tools: asArray(body['tools'])
        .flatMap((tool) => asArray(asObject(tool)['functionDeclarations']))
        .map(asObject)
        .map(({ name, parameters, parametersJsonSchema: schema }) => ({
          name: asText(name),
          schema: asObject(parameters ?? schema),
        })),
      userText: textOf(contents[user]?.['parts']),
      toolResults: later.filter((part) => 'functionResponse' in asObject(part)).length,
      isStream: path.includes(':stream'),
    };
  },
  // Its streams have no separate beginning: a comment opens one that hangs.
  stream: (step, model) => (step.kind === 'hang' ? ': working\n\n' : event(answer(step, model))),
  error: (status, type, message) => ({ error: { code: status, message, status: type.toUpperCase() } }),
  whole: (step, model) => answer(step, model),
};
