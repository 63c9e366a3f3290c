import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import type { ResourceKind } from '../definition.js';
import { definitionSchemas, type KnownParts } from './definition-schemas.js';
import { explain, type SchemaFault } from './explain.js';

/** More of one file are of no use, and each has to be looked up. */
const MAX_ERRORS = 1000;
const COMBINATIONS = ['anyOf', 'oneOf', 'not'];

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

function isBelow(pointer: string, above: ReadonlySet<string>): boolean {
  if (above.size === 0) return false;
  for (let end = pointer.length; end > 0; end = pointer.lastIndexOf('/', end - 1))
    if (above.has(pointer.slice(0, end))) return true;
  return false;
}

export type Validators = Readonly<Record<ResourceKind, (value: unknown) => readonly ErrorObject[]>>;

/** Compiling takes longer than reading files does, and an installation knows the same from its start to its end. */
let last: { readonly key: string; readonly validators: Validators } | undefined;

export function validatorsFor(known: KnownParts): Validators {
  const schemas = definitionSchemas(known);
  const key = JSON.stringify(schemas);
  if (last?.key !== key) last = { key, validators: compile(schemas) };
  return last.validators;
}

function compile({ factory, webhook, automation, agent, skill }: Readonly<Record<ResourceKind, object>>): Validators {
  const ajv = new Ajv2020({
    allErrors: true,
    verbose: true,
    // Schemas of triggers come from elsewhere: what this validator does not know in them is for editors.
    strict: false,
    validateFormats: false,
    ownProperties: true,
    logger: false,
  });
  return {
    factory: errorsBy(ajv.compile(factory)),
    webhook: errorsBy(ajv.compile(webhook)),
    automation: errorsBy(ajv.compile(automation)),
    agent: errorsBy(ajv.compile(agent)),
    skill: errorsBy(ajv.compile(skill)),
  };
}

const errorsBy =
  (validate: ValidateFunction) =>
  (value: unknown): readonly ErrorObject[] =>
    validate(value) ? [] : (validate.errors ?? []);
