import { isObject, parseJson } from '#platform/kernel';
import { AGENT_TEXT_MARK } from '#execution/runner-protocol';
import { RefusedError } from './api-messages.js';

/** Fields with the text of an issue, a request, a review or a comment. */
const TEXTS = ['body', 'description', 'note'];
/** The same in forms, and the texts of the comments of a review. */
const FORM_TEXTS = /^(?:(?:comments\[\d*\]\[)?body\]?|description|note)$/;
const UNREADABLE = 415;
/** The lexical grammar of GraphQL: strings, comments, names with or without `$`, and punctuation. A comma has no meaning. */
const TOKEN = /"""(?:\\"""|[^])*?"""|"(?:\\.|[^"\\\r\n])*"|#[^\r\n]*|\$?\w+|[^\s\w,\uFEFF]/g;

export interface RestRequest {
  readonly query: string;
  readonly body: Buffer;
  /** Absent: as servers do, the body is read as a form unless it is JSON. */
  readonly contentType: string | undefined;
}

/** Adds the mark of texts of runs to the texts in a request, so that no automation starts because of them. Rejects with a RefusedError. */
export async function markRequest({ query, body, contentType }: RestRequest): Promise<RestRequest> {
  const sent = { query: markForm(query), body, contentType };
  if (body.length === 0) return sent;
  const parsed = parseJson(body.toString('utf8'));
  // Before the type is read: GitHub reads JSON whatever the type is.
  if (isObject(parsed)) return { ...sent, body: Buffer.from(JSON.stringify(markFields(parsed))) };
  // Such as the list of labels of an issue.
  if (parsed !== undefined) return sent;
  const type = contentType?.split(';')[0]?.trim().toLowerCase();
  if (type === undefined || type === 'application/x-www-form-urlencoded')
    return { ...sent, body: Buffer.from(markForm(body.toString('utf8'))) };
  if (type === 'multipart/form-data') return { ...sent, ...(await markMultipart(body, contentType ?? '')) };
  throw new RefusedError(UNREADABLE, 'The body of a request about an issue or pull request must be JSON or a form.');
}

/** The same for a request of GraphQL. */
export function markGraphql(request: string): string {
  const parsed = parseJson(request);
  if (!isObject(parsed)) throw new RefusedError(UNREADABLE, 'The body of a GraphQL request must be a JSON object.');
  const { query, variables } = parsed;
  if (typeof query !== 'string') return JSON.stringify({ ...parsed, variables: markAll(variables) });
  const tokens = [...query.matchAll(TOKEN)]
    .map(({ 0: text, index }): Place => ({ text, index }))
    .filter(({ text }) => !text.startsWith('#'));
  if (!tokens.some(({ text }) => text === 'mutation')) return request;
  const values = tokens.filter(
    (_, index) => tokens[index - 1]?.text === ':' && TEXTS.includes(tokens[index - 2]?.text ?? ''),
  );
  const names = new Set(values.flatMap(({ text }) => (text.startsWith('$') ? [text] : [])));
  const strings = [...values, ...defaultsOf(tokens, names)].filter(({ text }) => text.startsWith('"'));
  return JSON.stringify({
    ...parsed,
    query: replaceStrings(query, strings),
    ...(isObject(variables) && { variables: markVariables(variables, names) }),
  });
}

interface Place {
  readonly text: string;
  readonly index: number;
}

/** The default values of variables: `$name: Type = value`. */
function defaultsOf(tokens: readonly Place[], names: ReadonlySet<string>): Place[] {
  return tokens.flatMap(({ text }, index) => {
    if (!names.has(text) || tokens[index + 1]?.text !== ':') return [];
    const rest = tokens.slice(index + 2);
    const end = rest.findIndex((token) => token.text === ')' || token.text.startsWith('$'));
    const equals = rest.slice(0, Math.max(end, 0)).findIndex((token) => token.text === '=');
    const value = equals === -1 ? undefined : rest[equals + 1];
    return value === undefined ? [] : [value];
  });
}

function replaceStrings(query: string, strings: readonly Place[]): string {
  let replaced = query;
  // From the end, so that the places before it stay valid.
  for (const { text, index } of strings.toSorted((a, b) => b.index - a.index))
    replaced = replaced.slice(0, index) + withMarkInString(text) + replaced.slice(index + text.length);
  return replaced;
}

function withMarkInString(literal: string): string {
  if (literal.includes(AGENT_TEXT_MARK)) return literal;
  if (literal.startsWith('"""')) return `"""${withMarkInBlock(literal.slice(3, -3).trimEnd())}"""`;
  return literal === '""' ? `"${AGENT_TEXT_MARK}"` : `${literal.slice(0, -1)}${String.raw`\n\n`}${AGENT_TEXT_MARK}"`;
}

/** The mark has the indentation that all lines after the first have, which GraphQL removes: with less, none would be removed. */
function withMarkInBlock(content: string): string {
  if (content === '') return AGENT_TEXT_MARK;
  const [, ...lines] = content.split(/\r\n|[\n\r]/);
  const indents = lines.filter((line) => line.trim() !== '').map((line) => /^[ \t]*/.exec(line)?.[0].length ?? 0);
  return `${content}\n\n${' '.repeat(indents.length === 0 ? 0 : Math.min(...indents))}${AGENT_TEXT_MARK}`;
}

function markVariables(variables: Readonly<Record<string, unknown>>, names: ReadonlySet<string>): object {
  return Object.fromEntries(
    Object.entries(variables).map(([name, value]) => [
      name,
      names.has(`$${name}`) && typeof value === 'string' ? withMark(value) : markField(name, value, markAll),
    ]),
  );
}

/** Texts at any depth. */
function markAll(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(markAll);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, markField(name, one, markAll)]));
}

/** Texts of a request of REST, and of the comments of a review. */
const markFields = (fields: Readonly<Record<string, unknown>>): object =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      markField(name, value, (other) => (name === 'comments' ? markAll(other) : other)),
    ]),
  );

const markField = (name: string, value: unknown, markOther: (value: unknown) => unknown): unknown =>
  TEXTS.includes(name) && typeof value === 'string' ? withMark(value) : markOther(value);

/** Unchanged without a text, because a server may read what is not in its normal form in another way. */
function markForm(form: string): string {
  const fields = [...new URLSearchParams(form)];
  if (!fields.some(([name]) => FORM_TEXTS.test(name))) return form;
  const marked = new URLSearchParams();
  for (const [name, value] of fields) marked.append(name, FORM_TEXTS.test(name) ? withMark(value) : value);
  return marked.toString();
}

async function markMultipart(body: Buffer, contentType: string): Promise<Pick<RestRequest, 'body' | 'contentType'>> {
  const form = await new Response(body, { headers: { 'content-type': contentType } }).formData().catch(() => {
    throw new RefusedError(UNREADABLE, 'The form in the body of the request cannot be read.');
  });
  const marked = new FormData();
  for (const [name, value] of form)
    if (typeof value !== 'string') marked.append(name, value, value.name);
    else marked.append(name, FORM_TEXTS.test(name) ? withMark(value) : value);
  const encoded = new Response(marked);
  return {
    body: Buffer.from(await encoded.arrayBuffer()),
    contentType: encoded.headers.get('content-type') ?? contentType,
  };
}

const withMark = (text: string): string =>
  text.includes(AGENT_TEXT_MARK) ? text : `${text}\n\n${AGENT_TEXT_MARK}`.trim();
