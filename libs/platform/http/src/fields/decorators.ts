import { listOf, type ListOptions, mapOf, type MapOptions, object } from './composite-kinds.js';
import { field, type FieldOptions, type Kind, type SchemaOptions } from './field.js';
import type { DtoClass } from './read-dto.js';
import { boolean, dateTime, integer, json, number, oneOf, text } from './scalar-kinds.js';

/*
 * Decorators of DTO fields, each with parsing, validation and documentation. A field is required unless `optional`.
 *
 *   class CreateProduct {
 *     @StringField({ blank: false, max: 200, description: 'Shown in lists.' }) name: string;
 *     @EnumField(COLORS, { name: 'Color', optional: true }) color?: Color;
 *     @ArrayField(text({ max: 100 }), { maxItems: 20, optional: true }) tags?: string[];
 *     @MapField(text({ maxBytes: 256 }), { maxEntries: 20, optional: true }) metadata?: Record<string, string>;
 *     @MapField(object(() => Part), { optional: true }) parts?: Record<string, Part>;
 *     @ObjectField(() => Part, { optional: true }) main?: Part;
 *   }
 *
 * The same classes document responses. Property names are those of the wire.
 */

const fieldOf =
  <Options>(kindOf: (options?: Options) => Kind) =>
  (options?: Options & FieldOptions): PropertyDecorator =>
    field(kindOf(options), options);

export const StringField = fieldOf(text);
export const IntegerField = fieldOf(integer);
export const NumberField = fieldOf(number);
export const BooleanField = fieldOf(boolean);

/** With `name` the enum is a named schema of the document. */
export const EnumField = (
  values: readonly string[],
  options: FieldOptions & { readonly name?: string } = {},
): PropertyDecorator => field(oneOf(values, options.name), options);

/** Documented like {@link EnumField}; plugins may add values, so the operation decides which ones are valid. */
export const ExtensibleEnumField = (
  values: readonly string[],
  options: FieldOptions & { readonly name?: string } = {},
): PropertyDecorator => {
  const any = text({ max: 64 });
  return field({ ...oneOf(values, options.name), check: (value) => any.check(value) }, options);
};

/** Strict RFC 3339; in a request the property is parsed to a Date. */
export const DateTimeField = fieldOf(dateTime);

export const ObjectField = (dto: () => DtoClass, options: FieldOptions = {}): PropertyDecorator =>
  field(object(dto), options);

export const ArrayField = (item: Kind, options: ListOptions & FieldOptions = {}): PropertyDecorator =>
  field(listOf(item, options), options);

export const MapField = (value: Kind, options: MapOptions & FieldOptions = {}): PropertyDecorator =>
  field(mapOf(value, options), options);

/** Any JSON value, unchanged. `schema` documents it. */
export const JsonField = (options: FieldOptions & { readonly schema?: SchemaOptions } = {}): PropertyDecorator =>
  field({ ...json(), schema: options.schema ?? {} }, options);
