import type { OpenAPIObject } from '@nestjs/swagger';

type Schema = Readonly<Record<string, unknown>>;

/**
 * The document in the dialect of OpenAPI 3.1, which is JSON Schema 2020-12: there is no `nullable`, a value that may be
 * null has the type `null` as well. `@nestjs/swagger` writes schemas of 3.0 whatever version the document names.
 */
export function toOpenApi31(document: OpenAPIObject): OpenAPIObject {
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
