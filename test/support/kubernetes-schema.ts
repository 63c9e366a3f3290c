import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';

interface Definition {
  readonly properties?: object;
}

/** Recorded from an API server, see scripts/record-kubernetes-schema.mjs. */
const { definitions } = JSON.parse(readFileSync(new URL('kubernetes-schema.json', import.meta.url), 'utf8')) as {
  definitions: Record<string, Definition>;
};
// An API server with strict validation rejects unknown fields, too.
const strict = Object.entries(definitions).map(([name, definition]) => [
  name,
  definition.properties === undefined ? definition : { ...definition, additionalProperties: false },
]);
const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
ajv.addSchema({ $id: 'kubernetes', definitions: Object.fromEntries(strict) as object });

const NAMES: Readonly<Record<string, string>> = {
  Pod: 'io.k8s.api.core.v1.Pod',
  Secret: 'io.k8s.api.core.v1.Secret',
  SelfSubjectAccessReview: 'io.k8s.api.authorization.v1.SelfSubjectAccessReview',
};

/** What is wrong with an object that is sent to an API server; empty: nothing. */
export function kubernetesProblems(body: { readonly kind: string }): string[] {
  const validate = ajv.getSchema(`kubernetes#/definitions/${NAMES[body.kind] ?? ''}`);
  if (validate === undefined) return [`The kind ${body.kind} is not known.`];
  if (validate(body) === true) return [];
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message ?? ''} ${JSON.stringify(params)}`,
  );
}
