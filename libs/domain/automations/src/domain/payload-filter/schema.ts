import { MAX_FILTER_DEPTH, MAX_SET_VALUES, OPERATORS } from './filter.js';

const SET = {
  type: 'array',
  minItems: 1,
  maxItems: MAX_SET_VALUES,
  items: { anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }, { type: 'null' }] },
};

const operator = (description: string, schema: object): object => ({ description, ...schema });

const OPERATOR_OBJECT = {
  type: 'object',
  properties: {
    in: operator('The value, or an element of an array, is one of these.', SET),
    not_in: operator('The value, or any element of an array, is none of these, or there is no value.', SET),
    exists: operator('Whether there is a value; null is one.', { type: 'boolean' }),
  },
  additionalProperties: false,
  // A missing key has none of the values of `in`.
  not: { type: 'object', properties: { in: {}, exists: { const: false } }, required: ['in', 'exists'] },
};

/** The schema of a value at this depth, without references, so that it can be embedded in other schemas. */
function valueAt(depth: number): object {
  return {
    anyOf: [{ type: 'array' }, { type: 'object' }],
    if: { type: 'array' },
    then: operator('The allowed values.', SET),
    else: {
      if: { type: 'object', minProperties: 1, propertyNames: { enum: OPERATORS } },
      then: OPERATOR_OBJECT,
      else: patternAt(depth + 1),
    },
  };
}

function patternAt(depth: number): object {
  if (depth > MAX_FILTER_DEPTH) return { type: 'object', maxProperties: 0 };
  return { type: 'object', additionalProperties: valueAt(depth) };
}

/**
 * JSON Schema (2020-12) of a payload filter. It accepts everything that `parsePayloadFilter` accepts, which also checks what a
 * schema cannot express: the number of leaves, values in both sets, misspelled operators, text that cannot be stored.
 */
export const PAYLOAD_FILTER_SCHEMA: object = {
  title: 'Payload filter',
  description:
    'Mirrors the payload: every key must match. An array lists the allowed values; an object has operators ' +
    '(in, not_in, exists) or nested keys.',
  ...patternAt(1),
};
