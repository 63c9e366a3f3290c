import type { ErrorObject } from 'ajv/dist/2020.js';
import type { ResourceKind } from '../definition.js';
import { explain } from './explain.js';
import type { SchemaFault } from './schema-fault.js';
import type { Validators } from './validators.js';

/** More of one file are of no use, and each has to be looked up. */
const MAX_ERRORS = 1000;
const COMBINATIONS = ['anyOf', 'oneOf', 'not'];

/** What is wrong with a value, by the schema of its kind. */
export function checkValue(validators: Validators, kind: ResourceKind, value: unknown): SchemaFault[] {
  const errors = validators[kind](value);
  const leftToProviders = combinationsIn(errors);
  return errors
    .filter((error) => !isLeft(error, leftToProviders))
    .slice(0, MAX_ERRORS)
    .map(explain)
    .filter((fault) => fault !== undefined);
}

/**
 * A trigger's own fields: their provider says in words what a combination of schemas cannot, and knows which name somebody
 * wrote instead of a UID.
 */
const OF_PROVIDER = /^\/triggers\/\d+\/(?!(?:provider|event)$)/;

const combinationsIn = (errors: readonly ErrorObject[]): ReadonlySet<string> =>
  new Set(
    errors
      .filter(({ keyword, instancePath }) => OF_PROVIDER.test(instancePath) && COMBINATIONS.includes(keyword))
      .map(({ instancePath }) => instancePath),
  );

function isLeft({ keyword, instancePath }: ErrorObject, combinations: ReadonlySet<string>): boolean {
  if (!OF_PROVIDER.test(instancePath)) return false;
  return keyword === 'pattern' || isBelow(instancePath, combinations);
}

/** Whether the pointer or one above it is among these. */
function isBelow(pointer: string, above: ReadonlySet<string>): boolean {
  if (above.size === 0) return false;
  for (let end = pointer.length; end > 0; end = pointer.lastIndexOf('/', end - 1))
    if (above.has(pointer.slice(0, end))) return true;
  return false;
}
