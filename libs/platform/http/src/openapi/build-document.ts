import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { PERMISSION_EXTENSION } from '../edge/route-options.js';
import { mapValueModels } from '../fields/composite-kinds.js';
import { type WebhookMessage, webhooksSection } from './webhooks.js';
import { BEARER_SCHEME, problemExamples, requestExamples } from '../operations/operation.decorator.js';

export interface DocumentOptions {
  /** Ends in `/api/v1`, relative to the origin of the document; paths are relative to it. */
  readonly serverUrl: string;
  readonly description: string;
  /** In the order in which Swagger UI shows them. */
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  /** Descriptions of path parameters by name; a name has the same meaning in every path. */
  readonly pathParameters: Readonly<Record<string, string>>;
  /** Messages that this service sends. */
  readonly webhooks: readonly WebhookMessage[];
}

/** The OpenAPI document of all routes below the prefix of the API. Paths are sorted so that a diff shows the changes. */
export function buildDocument(app: INestApplication, options: DocumentOptions): OpenAPIObject {
  const { serverUrl, description, tags, pathParameters, webhooks } = options;
  const builder = new DocumentBuilder()
    .setTitle('Headrace API')
    .setVersion('1.0.0')
    .setDescription(description)
    .setLicense('Apache-2.0', 'https://www.apache.org/licenses/LICENSE-2.0')
    .addServer(serverUrl)
    .addBearerAuth(
      { type: 'http', scheme: 'bearer', bearerFormat: 'opaque', description: 'A token that begins with `hr_`.' },
      BEARER_SCHEME,
    );
  for (const { name, description: text } of tags) builder.addTag(name, text);
  const document = SwaggerModule.createDocument(app, builder.build(), {
    ignoreGlobalPrefix: true,
    autoTagControllers: false,
    extraModels: [...mapValueModels, ...webhooks.map(({ payload }) => payload)],
  });
  for (const item of Object.values(document.paths))
    for (const operation of Object.values(item as Record<string, Operation>)) complete(operation, pathParameters);
  const { schemas, ...components } = document.components ?? {};
  const text = JSON.stringify(document.paths);
  return toOpenApi31({
    ...document,
    paths: deprecatedLast(document.paths),
    webhooks: webhooksSection(webhooks),
    components: {
      ...components,
      schemas: sorted(schemas ?? {}),
      examples: problemExamples((code) => text.includes(`"#/components/examples/${code}"`)),
    },
  });
}

function complete(operation: Operation, pathParameters: DocumentOptions['pathParameters']): void {
  for (const parameter of operation.parameters ?? []) {
    const description = pathParameters[parameter.name];
    if (parameter.in === 'path' && description !== undefined) Object.assign(parameter, { description });
    // Objects in a query are sent as `name[key]=value`, which is not the default style of OpenAPI. Without an example
    // Swagger UI fills in invented keys.
    if (parameter.in === 'query' && parameter.schema?.type === 'object')
      Object.assign(parameter, { style: 'deepObject', explode: true, example: {} });
  }
  // Without an example Swagger UI invents a body from the patterns of its fields, which no operation accepts.
  const content = operation.requestBody?.content['application/json'];
  const example = requestExamples.get(operation.operationId);
  if (content && example) {
    const summary = example.fill === undefined ? 'A body that succeeds as it is.' : `Replace first: ${example.fill}.`;
    content.examples = { example: { summary, value: example.value } };
  }
  // Readers of the document see the permission in the description, programs in the extension.
  const access = operation[PERMISSION_EXTENSION];
  if (access === undefined) return;
  const sentence = `Permission: \`${access.permission}\` on the ${access.resource}.`;
  operation.description = [operation.description, sentence].filter((text) => text !== undefined).join('\n\n');
}

/** Sorted by path, with deprecated operations at the end. */
function deprecatedLast(paths: OpenAPIObject['paths']): OpenAPIObject['paths'] {
  const isDeprecated = ([, item]: [string, object]): boolean =>
    Object.values(item as Record<string, Operation>).every(({ deprecated }) => deprecated === true);
  const entries = Object.entries(sorted(paths));
  return Object.fromEntries([...entries.filter((entry) => !isDeprecated(entry)), ...entries.filter(isDeprecated)]);
}

interface Operation {
  readonly operationId: string;
  description?: string;
  readonly [PERMISSION_EXTENSION]?: { readonly permission: string; readonly resource: string };
  readonly deprecated?: boolean;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Record<string, { examples?: object }> };
}

interface Parameter {
  readonly in: string;
  readonly name: string;
  readonly schema?: { readonly type?: string };
}

function sorted<T>(record: Record<string, T>): Record<string, T> {
  return Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));
}

type Schema = Readonly<Record<string, unknown>>;

/**
 * The document in the dialect of OpenAPI 3.1, which is JSON Schema 2020-12: there is no `nullable`, a value that may be
 * null has the type `null` as well. `@nestjs/swagger` writes schemas of 3.0 whatever version the document names.
 */
function toOpenApi31(document: OpenAPIObject): OpenAPIObject {
  return { ...(convert(document) as OpenAPIObject), openapi: '3.1.0' };
}

function convert(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(convert);
  if (typeof value !== 'object' || value === null) return value;
  const converted = Object.fromEntries(Object.entries(value).map(([key, item]) => [key, convert(item)]));
  return converted.nullable === true ? withNull(converted) : converted;
}

function withNull({ nullable: _nullable, ...schema }: Schema): Schema {
  const { type, allOf, ...rest } = schema;
  if (Array.isArray(allOf)) return { ...rest, anyOf: [...(allOf as unknown[]), { type: 'null' }] };
  const values = Array.isArray(rest.enum) ? { enum: [...(rest.enum as unknown[]), null] } : {};
  return { type: [type, 'null'], ...rest, ...values };
}
