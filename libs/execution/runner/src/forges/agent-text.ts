import { isObject, parseJson } from '#platform/kernel';
import { AGENT_TEXT_MARK } from '#execution/runner-protocol';

/** Fields with the text of an issue, a request or a comment. */
const TEXTS = ['body', 'description'];

/** Adds the mark of texts of runs to the texts in a request of REST or GraphQL, so that no automation starts because of them. */
export function markTexts(request: string): string {
  const parsed = parseJson(request);
  if (!isObject(parsed)) return request;
  const { variables } = parsed;
  if (!isObject(variables)) return JSON.stringify(marked(parsed));
  const { input } = variables;
  return isObject(input) ? JSON.stringify({ ...parsed, variables: { ...variables, input: marked(input) } }) : request;
}

const marked = (fields: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) =>
      TEXTS.includes(name) && typeof value === 'string' && !value.includes(AGENT_TEXT_MARK)
        ? [name, `${value}\n\n${AGENT_TEXT_MARK}`.trim()]
        : [name, value],
    ),
  );
