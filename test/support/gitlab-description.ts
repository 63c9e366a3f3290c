import { readFileSync } from 'node:fs';
import { Ajv, type ValidateFunction } from 'ajv';
import { parse } from 'yaml';

type Json = Record<string, unknown>;
interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: Json }>>;
}
interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema?: Json }[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content>>;
}
interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Json>> };
}

export interface GitlabExchange {
  readonly method: string;
  /** As it was sent: a slash in the name of a project is encoded. */
  readonly pathname: string;
  readonly query: URLSearchParams;
  readonly input: unknown;
  readonly status: number;
  readonly body: unknown;
}

const ID = 'https://gitlab.invalid/description';
const PREFIX = '/api/v4/';

/**
 * GitLab's OpenAPI description (doc/api/openapi/openapi_v3.yaml of its repository). Its licence (CC BY-SA 4.0) keeps it out of this repository: it
 * is read from a file that the developer names.
 */
export class GitlabDescription {
  /** Operations that were checked, such as `POST /api/v4/projects/{id}/merge_requests`. */
  readonly checked = new Set<string>();
  private readonly ajv = new Ajv({
    strict: false,
    validateFormats: false,
    inlineRefs: false,
    code: { optimize: false },
  });
  private readonly compiled = new Map<Json, ValidateFunction>();

  private constructor(private readonly description: Description) {
    this.ajv.addSchema({ $id: ID, components: description.components });
  }

  static read(file: string): GitlabDescription {
    return new GitlabDescription(parse(readFileSync(file, 'utf8'), { maxAliasCount: -1 }) as Description);
  }

  /** What of a request, and of its response, GitLab does not describe. */
  violationsOf({ method, pathname, query, input, status, body }: GitlabExchange): string[] {
    const path = this.templateOf(pathname);
    const operation = path === null ? undefined : this.description.paths[path]?.[method.toLowerCase()];
    const name = `${method} ${path ?? pathname}`;
    if (!operation) return [`${name}: GitLab has no such operation`];
    this.checked.add(name);
    return [
      ...this.queryViolations(operation, query),
      ...this.inputViolations(operation, input),
      ...this.answerViolations(operation, status, body),
    ].map((violation) => `${name}: ${violation}`);
  }

  private queryViolations({ parameters = [] }: Operation, query: URLSearchParams): string[] {
    return [...query].flatMap(([name, value]) => {
      const known = parameters.find((one) => one.in === 'query' && one.name === name);
      if (!known) return [`unknown parameter ${name}`];
      const isNumber = known.schema?.['type'] === 'integer' && /^\d+$/.test(value);
      return this.check(known.schema ?? {}, isNumber ? Number(value) : value, `parameter ${name}`);
    });
  }

  private inputViolations({ requestBody }: Operation, input: unknown): string[] {
    const schema = schemaOf(requestBody);
    if (input === null) return schema === null || requestBody?.content === undefined ? [] : ['the request has no body'];
    return schema === null ? ['the request has a body'] : this.checkClosed(schema, input, 'request');
  }

  private answerViolations({ responses }: Operation, status: number, body: unknown): string[] {
    if (status >= 400) return String(status) in responses || status === 401 ? [] : [`unknown status ${status}`];
    // The description has 200 for some operations that answer with 201.
    const found = responses[status] ?? Object.entries(responses).find(([code]) => code.startsWith('2'))?.[1];
    const schema = schemaOf(found);
    return schema === null ? [] : this.checkClosed(schema, body, 'response');
  }

  /** Also that the value has no property that GitLab does not know: its schemas do not forbid them. */
  private checkClosed(schema: Json, value: unknown, what: string): string[] {
    const unknown = this.unknownIn(schema, value, what);
    return [...this.check(schema, value, what), ...unknown];
  }

  private unknownIn(given: Json, value: unknown, what: string): string[] {
    const schema = this.resolve(given);
    if (Array.isArray(value))
      return value.flatMap((item) => this.unknownIn((schema['items'] ?? {}) as Json, item, what));
    const { properties } = schema as { readonly properties?: Readonly<Record<string, Json>> };
    if (typeof value !== 'object' || value === null || properties === undefined) return [];
    return Object.entries(value).flatMap(([name, item]) => {
      const known = properties[name];
      return known ? this.unknownIn(known, item, what) : [`${what}: unknown property ${name}`];
    });
  }

  private resolve(schema: Json): Json {
    const { $ref: reference } = schema;
    if (typeof reference !== 'string') return schema;
    return this.description.components.schemas[reference.split('/').at(-1) ?? ''] ?? {};
  }

  private check(schema: Json, value: unknown, what: string): string[] {
    let validate = this.compiled.get(schema);
    if (!validate) {
      validate = this.ajv.compile(absolute(schema));
      this.compiled.set(schema, validate);
    }
    return validate(value) ? [] : [`${what}: ${this.ajv.errorsText(validate.errors)}`];
  }

  /** The path with the fewest variables. */
  private templateOf(pathname: string): string | null {
    const parts = pathname.split('/');
    const matching = Object.keys(this.description.paths).filter((template) => {
      if (!template.startsWith(PREFIX)) return false;
      const names = template.split('/');
      return (
        names.length === parts.length && names.every((name, index) => name.startsWith('{') || name === parts[index])
      );
    });
    const variables = (template: string): number => template.split('{').length;
    return matching.sort((one, other) => variables(one) - variables(other))[0] ?? null;
  }
}

const schemaOf = (given: Content | undefined): Json | null =>
  Object.values(given?.content ?? {}).map(({ schema }) => schema)[0] ?? null;

/** With references to the schemas of the description. */
function absolute(schema: Json): Json {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', `"${ID}#/components/`)) as Json;
}
