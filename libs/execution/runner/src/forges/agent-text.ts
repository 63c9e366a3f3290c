import { isObject, parseJson } from '#platform/kernel';
import { RefusedError } from './api-messages.js';
import { markFields, markTexts, refuseDeep, UNREADABLE, withMark } from './text-mark.js';

const FORM_TYPE = 'application/x-www-form-urlencoded';
/** Names that every server reads in the same way: Rack reads `[body]`, `body]]` and ` body` as `body`. */
const FORM_NAME = /^[\w-]+(?:\[[\w-]*\])*$/;
/** The fields of `markJson` in a form. */
const FORM_TEXT = /^(?:comments(?:\[[\w-]*\])*\[)?(?:body|description|note)(?![\w-])/;

export interface RestRequest {
  readonly query: string;
  readonly body: Buffer;
  /** Absent: as servers do, the body is read as a form unless it is JSON. */
  readonly contentType: string | undefined;
}

/**
 * Adds the mark of texts of runs to the texts in a request, so that no automation starts because of them. Query and body are encoded
 * again in their normal form, with the type as which they were read: servers cannot read other texts in them. Rejects with a RefusedError.
 */
export async function markRequest({ query, body, contentType }: RestRequest): Promise<RestRequest> {
  const sent = { query: markForm(query), body, contentType };
  if (body.length === 0) return sent;
  const text = body.toString('utf8');
  const parsed = parseJson(text);
  // Before the type is read: GitHub reads JSON whatever the type is.
  if (parsed !== undefined)
    return { ...sent, body: Buffer.from(JSON.stringify(markJson(parsed))), contentType: 'application/json' };
  const type = contentType?.split(';')[0]?.trim().toLowerCase() ?? FORM_TYPE;
  if (type === FORM_TYPE) return { ...sent, body: Buffer.from(markForm(text)), contentType: FORM_TYPE };
  if (type === 'multipart/form-data') return { ...sent, ...(await markMultipart(body, contentType ?? '')) };
  throw new RefusedError(UNREADABLE, 'The body of a request about an issue or pull request must be JSON or a form.');
}

/** Texts of the object itself, and of the comments of a review. Other JSON is for example the labels that are added to an issue. */
function markJson(value: unknown): unknown {
  refuseDeep(value);
  if (!isObject(value)) return markTexts(value);
  return markFields(value, (name, one) => (name === 'comments' ? markTexts(one) : one));
}

function markForm(form: string): string {
  const marked = new URLSearchParams();
  for (const [name, value] of new URLSearchParams(form)) marked.append(name, markValue(name, value));
  return marked.toString();
}

function markValue(name: string, value: string): string {
  if (!FORM_NAME.test(name))
    throw new RefusedError(
      UNREADABLE,
      `Servers may read this name in a form or query in different ways: ${JSON.stringify(name.slice(0, MAX_SHOWN))}`,
    );
  return FORM_TEXT.test(name) ? withMark(value) : value;
}
const MAX_SHOWN = 100;

async function markMultipart(body: Buffer, contentType: string): Promise<Pick<RestRequest, 'body' | 'contentType'>> {
  const form = await new Response(body, { headers: { 'content-type': contentType } }).formData().catch(() => {
    throw new RefusedError(UNREADABLE, 'The form in the body of the request cannot be read.');
  });
  const marked = new FormData();
  for (const [name, value] of form)
    if (typeof value === 'string') marked.append(name, markValue(name, value));
    else marked.append(name, value, value.name);
  const encoded = new Response(marked);
  return {
    body: Buffer.from(await encoded.arrayBuffer()),
    contentType: encoded.headers.get('content-type') ?? contentType,
  };
}
