import type { ErrorObject } from 'ajv/dist/2020.js';
import { nearMisses, parsePointer } from '#platform/kernel';
import { printable } from '../definition.js';
import type { Side } from '../yaml/locate.js';

export interface SchemaFault {
  readonly code: string;
  readonly path: readonly string[];
  readonly side: Side;
  readonly message: string;
}

const MAX_CHOICES = 20;
const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  object: 'a mapping of keys to values',
  array: 'a list',
  boolean: 'true or false',
  number: 'a number',
  integer: 'an integer',
  null: 'null',
};

/** What a schema's error says to people; undefined where another one says it, or nobody but the trigger's provider can. */
export function explain(error: ErrorObject): SchemaFault | undefined {
  const path = parsePointer(error.instancePath);
  const say = (code: string, rule: string): SchemaFault => ({
    code,
    path,
    side: 'value',
    message: `${spoken(path)} ${rule}.`,
  });
  const value = (rule: string): SchemaFault => say('invalid_value', rule);
  const { limit } = error.params as { readonly limit?: number };
  switch (error.keyword) {
    case 'required':
      return say('missing_key', `needs ${String(error.params.missingProperty)}`);
    case 'additionalProperties':
      return aboutUnknownKey(path, String(error.params.additionalProperty), error.parentSchema);
    case 'propertyNames':
      return {
        ...value('has a key that is empty or too long'),
        path: [...path, String(error.params.propertyName)],
        side: 'key',
      };
    case 'type':
      return say('wrong_type', `must be ${typesOf(error.params.type)}`);
    case 'enum':
      return choice(error, path);
    case 'const':
      return path.join() === 'schemaVersion'
        ? say('unsupported_schema_version', `must be ${String(error.params.allowedValue)}`)
        : value(`must be ${printable(JSON.stringify(error.params.allowedValue))}`);
    case 'pattern':
      return error.propertyName === undefined
        ? value(annotation(error, 'patternErrorMessage') ?? 'has another form')
        : undefined;
    case 'not':
      return { ...say('unexpected_key', annotation(error, 'errorMessage') ?? 'is not allowed here'), side: 'key' };
    case 'minLength':
      return error.propertyName === undefined
        ? value(limit === 1 ? 'must not be empty' : `must have at least ${limit} characters`)
        : undefined;
    case 'maxLength':
      return error.propertyName === undefined ? value(`must not exceed ${limit} characters`) : undefined;
    case 'minimum':
      return value(`must be at least ${limit}`);
    case 'maximum':
      return value(`must not exceed ${limit}`);
    case 'minItems':
    case 'minProperties':
      return value(`must have at least ${counted(error.keyword, limit)}`);
    case 'maxItems':
    case 'maxProperties':
      return value(`must not exceed ${counted(error.keyword, limit)}`);
    case 'if':
      // The requirement of `then` or `else` has a separate error.
      return undefined;
    default:
      return value('is not allowed here');
  }
}

function counted(keyword: string, limit: number | undefined): string {
  const [one, many] = keyword.endsWith('Items') ? ['entry', 'entries'] : ['key', 'keys'];
  return `${limit} ${limit === 1 ? one : many}`;
}

function choice({ params, data }: ErrorObject, path: readonly string[]): SchemaFault {
  const allowed = (params.allowedValues as readonly unknown[]).map(String);
  const [near] = typeof data === 'string' ? nearMisses(data, allowed) : [];
  const hint = near === undefined ? '' : ` Did you mean ${near}?`;
  const isTrigger = path[0] === 'triggers' && path.length === 3 && (path[2] === 'provider' || path[2] === 'event');
  const known = allowed.slice(0, MAX_CHOICES).join(', ');
  return {
    code: isTrigger ? 'unknown_trigger' : 'invalid_value',
    path,
    side: 'value',
    message: `${spoken(path)} must be ${allowed.length === 1 ? known : `one of ${known}`}.${hint}`,
  };
}

const typesOf = (types: unknown): string =>
  [types]
    .flat()
    .map((type) => TYPES[String(type)] ?? String(type))
    .join(' or ');

function annotation({ parentSchema }: ErrorObject, name: string): string | undefined {
  const text: unknown = parentSchema?.[name];
  return typeof text === 'string' ? text : undefined;
}

const SECRETIVE = /secret|token|passw|api_?-?key|credential/i;
const REGISTER = 'register the server for the team with POST /mcp-servers, and give its UID as warp_id';

function aboutUnknownKey(path: readonly string[], key: string, parentSchema: unknown): SchemaFault {
  const { code, message } = guess(path, key, Object.keys(propertiesOf(parentSchema)));
  return { code, path: [...path, key], side: 'key', message };
}

function guess(path: readonly string[], key: string, known: readonly string[]): { code: string; message: string } {
  const shown = printable(key);
  if (path.at(-2) === 'mcpServers') {
    if (key === 'env' || key === 'headers')
      return { code: 'secret_in_file', message: `Files never hold secrets, as ${shown} would: ${REGISTER}.` };
    return {
      code: 'unknown_key',
      message: `Only registered servers can be named here, without ${shown}: ${REGISTER}.`,
    };
  }
  const near = nearMisses(key, known);
  if (
    path.length === 0 &&
    known.includes('secretName') &&
    SECRETIVE.test(key) &&
    !near.some((name) => differsInCase(name, key))
  )
    return {
      code: 'secret_in_file',
      message: `Files never hold secrets, as ${shown} would: put it into a managed secret of the team, and its name here as secretName.`,
    };
  const place = path.length === 0 ? '' : ` in ${spoken(path)}`;
  const hint = near.length === 0 ? knownKeys(known) : ` Did you mean ${near.join(' or ')}?`;
  return { code: 'unknown_key', message: `${shown} is not known${place === '' ? ' here' : place}.${hint}` };
}

const differsInCase = (one: string, other: string): boolean =>
  one.toLowerCase() === other.toLowerCase().replaceAll(/[_-]/g, '');

const knownKeys = (known: readonly string[]): string => (known.length === 0 ? '' : ` Known are ${known.join(', ')}.`);

const propertiesOf = (schema: unknown): object =>
  (schema as { readonly properties?: object } | undefined)?.properties ?? {};

/** A place as people write it: `triggers[0].filter`. */
export function spoken(path: readonly string[]): string {
  if (path.length === 0) return 'This';
  const steps = path.map((segment, index) => {
    if (/^\d+$/.test(segment) && index > 0) return `[${segment}]`;
    return `${index === 0 ? '' : '.'}${printable(segment)}`;
  });
  return printable(steps.join(''), 200);
}
