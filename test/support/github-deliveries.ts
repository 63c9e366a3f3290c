import { createHmac } from 'node:crypto';
import { createRequire } from 'node:module';
import { Ajv, type ValidateFunction } from 'ajv';

const load = createRequire(import.meta.url);
const SCHEMAS = 'webhooks';

interface Examples {
  readonly name: string;
  readonly examples: readonly Payload[];
}
type Payload = Readonly<Record<string, unknown>>;

let validator: Ajv | undefined;

/** GitHub's published schemas of its webhooks. */
function schemas(): Ajv {
  if (validator) return validator;
  // Inlining and optimizing take most of the time of compiling these schemas.
  const fast = { inlineRefs: false, code: { optimize: false } };
  validator = new Ajv({ strict: false, validateFormats: false, validateSchema: false, ...fast });
  return validator.addSchema(load('@octokit/webhooks-schemas/schema.json') as object, SCHEMAS);
}

const allExamples = (): readonly Examples[] => load('@octokit/webhooks-examples') as readonly Examples[];

/** GitHub's published examples of a kind of delivery. */
export const githubExamples = (kind: string): readonly Payload[] =>
  allExamples().find(({ name }) => name === kind)?.examples ?? [];

export const githubKinds = (): readonly string[] => allExamples().map(({ name }) => name);

export interface GithubDelivery {
  readonly headers: Readonly<Record<string, string>>;
  readonly payload: Payload;
  readonly body: string;
}

/** Compiled once: that takes longer than all else a delivery needs. */
const validators = new Map<string, ValidateFunction>();

function validatorOf(definition: string): ValidateFunction {
  const known = validators.get(definition);
  if (known) return known;
  const compiled = schemas().compile({ $ref: `${SCHEMAS}#/definitions/${definition}` });
  validators.set(definition, compiled);
  return compiled;
}

/** An example of GitHub with other values, which its schema allows. */
export function githubDelivery(kind: string, action: string | null, changes: object = {}): GithubDelivery {
  const isValid = validatorOf(action === null ? `${kind}$event` : `${kind}$${action}`);
  for (const example of githubExamples(kind)) {
    if (action !== null && example.action !== action) continue;
    const payload = changed(example, changes);
    if (isValid(payload)) return { headers: { 'x-github-event': kind }, payload, body: JSON.stringify(payload) };
  }
  throw new Error(`No example of ${kind} ${action ?? ''}: ${schemas().errorsText(isValid.errors)}`);
}

/** The headers of GitHub for a delivery to a webhook with this secret. */
export const signedHeaders = ({ headers, body }: GithubDelivery, id: string, secret: string) => ({
  ...headers,
  'content-type': 'application/json',
  'x-github-delivery': id,
  'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
});

/** Objects are merged; other values, and lists, are replaced. */
function changed(value: Payload, changes: object): Payload {
  const result: Record<string, unknown> = { ...value };
  for (const [key, change] of Object.entries(changes)) {
    const before = result[key];
    result[key] = isPlain(change) && isPlain(before) ? changed(before, change) : change;
  }
  return result;
}

const isPlain = (value: unknown): value is Payload =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
