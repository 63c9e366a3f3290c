import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import type { ResourceKind } from '../definition.js';
import { definitionSchemas, type KnownParts } from './definition-schemas.js';

export type Validators = Readonly<Record<ResourceKind, (value: unknown) => readonly ErrorObject[]>>;

/** Compiling takes longer than reading files does, and an installation knows the same from its start to its end. */
let last: { readonly key: string; readonly validators: Validators } | undefined;

/** The schemas, ready for use. */
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
