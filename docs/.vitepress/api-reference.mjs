import { readFileSync } from 'node:fs';

const FILE = new URL('../../openapi.json', import.meta.url);
const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
const TYPES_PAGE = 'types';
const ERRORS_PAGE = 'errors';

/** A page for each tag of openapi.json, a page of the types that several of them use, and a page of the errors. */
export function apiPages() {
  const reference = new ApiReference(JSON.parse(readFileSync(FILE, 'utf8')));
  return [...reference.areaPages(), reference.typesPage(), reference.errorsPage()].map(({ area, content }) => ({
    path: `api/${area}.md`,
    params: { area },
    content: withoutHtml(content),
  }));
}

/** Descriptions contain placeholders such as <uid>, which are no elements. */
const withoutHtml = (markdown) => markdown.replaceAll(/(`[^`]*`)|</g, (_, code) => code ?? '&lt;');

class ApiReference {
  #document;
  #base;
  #schemas;
  #areas;
  /** Names of the schemas that only one operation uses, as its body: their fields are shown there. */
  #bodiesOfOne;
  /** Name of a schema → the area whose page has it; several areas share the page of types. */
  #pageOfSchema = new Map();

  constructor(document) {
    this.#document = document;
    this.#base = document.servers[0].url;
    this.#schemas = document.components.schemas;
    this.#bodiesOfOne = this.#findBodiesOfOne();
    this.#areas = document.tags.map(({ name, description }) => ({
      name,
      description,
      area: name.toLowerCase(),
      operations: this.#operationsOf(name),
    }));
    this.#assertComplete();
    const users = [...this.#areas, { area: ERRORS_PAGE, operations: this.#schemas.Problem }];
    for (const { area, operations } of users)
      for (const name of this.#reachable(operations))
        this.#pageOfSchema.set(name, this.#pageOfSchema.has(name) ? TYPES_PAGE : area);
  }

  areaPages() {
    return this.#areas.map(({ name, description, area, operations }) => ({
      area,
      content: [
        `# ${name}`,
        description,
        ...operations.flatMap((operation) => this.#operation(operation, area)),
        ...this.#types(area),
      ].join('\n\n'),
    }));
  }

  typesPage() {
    return {
      area: TYPES_PAGE,
      content: [
        '# Shared types',
        'Types that operations of several pages use.',
        ...this.#typeSections(TYPES_PAGE),
      ].join('\n\n'),
    };
  }

  errorsPage() {
    const { properties } = this.#schemas.Problem;
    const meanings = new Map();
    for (const { operations } of this.#areas)
      for (const { responses } of operations)
        for (const [status, { description }] of Object.entries(responses))
          for (const { code, meaning } of errorsIn(description)) meanings.set(code, { status, meaning });
    const rows = [...meanings].sort(([one], [other]) => (one < other ? -1 : 1));
    return {
      area: ERRORS_PAGE,
      content: [
        '# Errors',
        'Every error is a problem document of RFC 9457, `application/problem+json`:',
        this.#fields({ properties, required: this.#schemas.Problem.required }, ERRORS_PAGE),
        '## Codes',
        table(
          ['code', 'status', 'meaning'],
          rows.map(([code, { status, meaning }]) => [`\`${code}\``, status, meaning]),
        ),
        ...this.#types(ERRORS_PAGE),
      ].join('\n\n'),
    };
  }

  #assertComplete() {
    const shown = new Set(this.#areas.flatMap(({ operations }) => operations.map(({ operationId }) => operationId)));
    const missing = Object.values(this.#document.paths)
      .flatMap((item) => Object.values(item))
      .filter(({ operationId }) => !shown.has(operationId));
    if (missing.length > 0)
      throw new Error(
        `Operations without a tag of openapi.json: ${missing.map(({ operationId }) => operationId).join(', ')}.`,
      );
  }

  #operationsOf(tag) {
    return Object.entries(this.#document.paths).flatMap(([path, item]) =>
      METHODS.filter((method) => item[method]?.tags.includes(tag)).map((method) => ({ method, path, ...item[method] })),
    );
  }

  #operation({ method, path, summary, deprecated, description, parameters, requestBody, responses }, area) {
    const statuses = Object.entries(responses);
    const errors = statuses.flatMap(([status, { description: text }]) =>
      errorsIn(text).map(({ code }) => `${status} [\`${code}\`](${ERRORS_PAGE}.md#codes)`),
    );
    return [
      `## ${summary}`,
      `\`${method.toUpperCase()} ${this.#base}${path}\``,
      ...(deprecated === true ? ['**Deprecated.**'] : []),
      description,
      ...(parameters.length > 0 ? ['**Parameters**', this.#parameters(parameters, area)] : []),
      ...(requestBody ? this.#body('Request', requestBody, area) : []),
      ...statuses
        .filter(([, { description: text }]) => errorsIn(text).length === 0)
        .flatMap(([status, response]) => this.#body(`Response ${status}`, response, area)),
      ...(errors.length > 0 ? [`**Errors:** ${errors.join(', ')}`] : []),
    ];
  }

  #parameters(parameters, area) {
    return table(
      ['parameter', 'type', 'meaning'],
      parameters.map(({ name, in: place, required, schema, description }) => [
        `${nameText(name, required)} (${place})`,
        this.#typeText(schema, area),
        meaningOf({ ...schema, description }),
      ]),
    );
  }

  #body(title, { description, content = {} }, area) {
    const bodies = Object.entries(content).map(([type, { schema }]) => {
      const text = type === 'application/json' ? '' : ` (\`${type}\`)`;
      return schema === undefined ? `\`${type}\`` : `${this.#typeText(schema, area)}${text}`;
    });
    const own = bodyNames({ content }).find((name) => this.#bodiesOfOne.has(name));
    if (own !== undefined) return [`**${title}:** ${description ?? ''}`.trim(), this.#fields(this.#schemas[own], area)];
    return [`**${title}:** ${[description, bodies.join(' or ')].filter(Boolean).join(' ')}`];
  }

  #findBodiesOfOne() {
    const uses = new Map();
    for (const [, name] of JSON.stringify(this.#document).matchAll(/"#\/components\/schemas\/(\w+)"/g))
      uses.set(name, (uses.get(name) ?? 0) + 1);
    const names = Object.values(this.#document.paths).flatMap((item) =>
      METHODS.flatMap((method) =>
        item[method]
          ? [item[method].requestBody ?? {}, ...Object.values(item[method].responses)].flatMap(bodyNames)
          : [],
      ),
    );
    return new Set(
      names.filter((name) => uses.get(name) === 1 && !isInline(this.#schemas[name]) && !isUnion(this.#schemas[name])),
    );
  }

  /** The section of the types of a page. */
  #types(area) {
    const sections = this.#typeSections(area);
    return sections.length > 0 ? ['## Types', ...sections] : [];
  }

  #typeSections(area) {
    const level = area === TYPES_PAGE ? '##' : '###';
    return [...this.#pageOfSchema]
      .filter(([name, page]) => page === area && !isInline(this.#schemas[name]) && !this.#bodiesOfOne.has(name))
      .map(([name]) => name)
      .sort()
      .map((name) => {
        const schema = this.#schemas[name];
        const text = isUnion(schema) ? this.#typeText(schema, area) : this.#fields(schema, area);
        return [`${level} ${name}`, schema.description, text].filter(Boolean).join('\n\n');
      });
  }

  #fields(schema, area) {
    const rows = this.#fieldRows(schema, area, '');
    return rows.length > 0 ? table(['field', 'type', 'meaning'], rows) : 'Any object.';
  }

  #fieldRows(schema, area, prefix) {
    return partsOf(schema).flatMap((part) =>
      part.$ref
        ? this.#fieldRows(this.#schemas[nameOf(part)], area, prefix)
        : Object.entries(part.properties ?? {}).flatMap(([name, field]) => [
            [
              nameText(`${prefix}${name}`, part.required?.includes(name)),
              this.#typeText(field, area),
              meaningOf(field),
            ],
            ...(field.properties ? this.#fieldRows(field, area, `${prefix}${name}.`) : []),
            ...(field.items?.properties ? this.#fieldRows(field.items, area, `${prefix}${name}[].`) : []),
          ]),
    );
  }

  #typeText(schema, area) {
    const text = (part) => this.#typeText(part, area);
    if (schema.$ref) return this.#referenceText(nameOf(schema), area);
    if (schema.allOf?.length === 1) return text(schema.allOf[0]);
    const variants = schema.anyOf ?? schema.oneOf;
    if (variants) return variants.map(text).join(' or ');
    if (schema.enum) return schema.enum.map((value) => `\`${value}\``).join(', ');
    if (schema.items) return `array of ${text(schema.items)}`;
    if (typeof schema.additionalProperties === 'object' && !schema.properties)
      return `map of ${text(schema.additionalProperties)}`;
    const types = [schema.type ?? 'any'].flat().join(' or ');
    return schema.format ? `${types} (${schema.format})` : types;
  }

  #referenceText(name, area) {
    const schema = this.#schemas[name];
    if (isInline(schema)) return this.#typeText(schema, area);
    const page = this.#pageOfSchema.get(name);
    return `[${name}](${page === area ? '' : `${page}.md`}#${name.toLowerCase()})`;
  }

  /** The names of all schemas that a value refers to, directly or through others. */
  #reachable(value, found = new Set()) {
    if (typeof value !== 'object' || value === null) return found;
    if (typeof value.$ref === 'string' && value.$ref.startsWith('#/components/schemas/')) {
      const name = nameOf(value);
      if (found.has(name)) return found;
      found.add(name);
      return this.#reachable(this.#schemas[name], found);
    }
    for (const part of Object.values(value)) this.#reachable(part, found);
    return found;
  }
}

const bodyNames = ({ content = {} }) =>
  Object.values(content).flatMap(({ schema }) => (schema?.$ref ? [nameOf(schema)] : []));

const nameOf = ({ $ref }) => $ref.split('/').at(-1);

const isUnion = (schema) => schema.anyOf !== undefined || schema.oneOf !== undefined;

/** Schemas that are written where they are used, such as the values of a field. */
const isInline = (schema) => !isUnion(schema) && !schema.allOf && (schema.type !== 'object' || !schema.properties);

const partsOf = (schema) => [...(schema.allOf ?? []), ...(schema.properties ? [schema] : [])];

const nameText = (name, required) => `\`${name}\`${required === true ? ', required' : ''}`;

/** `limit_reached`, in paragraphs such as "`limit_reached`: The limit is reached." */
const errorsIn = (description) =>
  [...description.matchAll(/^`([a-z_]+)`: (.+)$/gm)].map(([, code, meaning]) => ({ code, meaning }));

function meaningOf({
  description = '',
  deprecated,
  minimum,
  maximum,
  minLength,
  maxLength,
  maxItems,
  pattern,
  default: fallback,
}) {
  const range = (low, high) =>
    low === undefined ? `at most ${high}` : high === undefined ? `at least ${low}` : `${low} to ${high}`;
  const limits = [
    minimum === undefined && maximum === undefined ? '' : range(minimum, maximum),
    maxLength === undefined ? '' : `${range(minLength, maxLength)} characters`,
    maxItems === undefined ? '' : `at most ${maxItems} entries`,
    pattern === undefined ? '' : `pattern \`${pattern}\``,
    fallback === undefined ? '' : `default \`${typeof fallback === 'string' ? fallback : JSON.stringify(fallback)}\``,
  ].filter(Boolean);
  const sentence = limits.length === 0 ? '' : `(${limits.join('; ')})`;
  return [deprecated === true ? '**Deprecated.**' : '', description, sentence].filter(Boolean).join(' ');
}

function table(head, rows) {
  const line = (cells) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll(/\s*\n\s*/g, ' ')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
