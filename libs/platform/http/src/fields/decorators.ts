import { listOf, type ListOptions, mapOf, type MapOptions, object } from './composite-kinds.js';
import { field, type FieldOptions } from './field.js';
import { type Kind, type SchemaOptions } from './kind.js';
import type { DtoClass } from './read-dto.js';
import {
  boolean,
  dateTime,
  integer,
  json,
  number,
  oneOf,
  type RangeOptions,
  text,
  type TextOptions,
} from './scalar-kinds.js';

/*
 * The fields of a DTO, one decorator each: rule, reading and documentation together. Required unless `optional`.
 *
 *   class CreateThing {
 *     @StringField({ blank: false, max: 200, description: 'Shown in lists.' }) name: string;
 *     @EnumField(COLOURS, { name: 'Colour', optional: true }) colour?: Colour;
 *     @ArrayField(text({ max: 100 }), { maxItems: 20, optional: true }) tags?: string[];
 *     @MapField(text({ maxBytes: 256 }), { maxEntries: 20, optional: true }) metadata?: Record<string, string>;
 *     @MapField(object(() => Part), { optional: true }) parts?: Record<string, Part>;
 *     @ObjectField(() => Part, { optional: true }) main?: Part;
 *   }
 *
 * The same classes describe responses. Properties are named as on the wire.
 */

export const StringField = (options: TextOptions & FieldOptions = {}): PropertyDecorator =>
  field(text(options), options);

export const IntegerField = (options: RangeOptions & FieldOptions = {}): PropertyDecorator =>
  field(integer(options), options);

export const NumberField = (options: RangeOptions & FieldOptions = {}): PropertyDecorator =>
  field(number(options), options);

export const BooleanField = (options: FieldOptions = {}): PropertyDecorator => field(boolean(), options);

/** `name` makes it a named schema of the document. */
export const EnumField = (
  values: readonly string[],
  options: FieldOptions & { readonly name?: string } = {},
): PropertyDecorator => field(oneOf(values, options.name), options);

/** Strict RFC 3339; the property becomes a Date when read from a request. */
export const DateTimeField = (options: FieldOptions = {}): PropertyDecorator => field(dateTime(), options);

export const ObjectField = (dto: () => DtoClass, options: FieldOptions = {}): PropertyDecorator =>
  field(object(dto), options);

export const ArrayField = (item: Kind, options: ListOptions & FieldOptions = {}): PropertyDecorator =>
  field(listOf(item, options), options);

export const MapField = (value: Kind, options: MapOptions & FieldOptions = {}): PropertyDecorator =>
  field(mapOf(value, options), options);

/** Any JSON value, as it came. `schema` describes it in the document. */
export const JsonField = (options: FieldOptions & { readonly schema?: SchemaOptions } = {}): PropertyDecorator =>
  field({ ...json(), schema: options.schema ?? {} }, options);
