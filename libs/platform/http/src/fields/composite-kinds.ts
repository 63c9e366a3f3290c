import { getSchemaPath } from '@nestjs/swagger';
import { pointerOf } from '#platform/kernel';
import { below, isPlainObject, type Kind, type SchemaOptions, wrong } from './field.js';
import { checkDto, type DtoClass, readDto } from './read-dto.js';

/** DTO classes that are values of maps only, which the explorer of the library does not follow. */
export const mapValueModels = new Set<DtoClass>();

function nestedSchema(item: Kind): SchemaOptions {
  const { type } = item.schema as { type?: unknown };
  if (typeof type !== 'function') return item.schema;
  const dto = (type as () => DtoClass)();
  mapValueModels.add(dto);
  return { $ref: getSchemaPath(dto) } as SchemaOptions;
}

export function object(dto: () => DtoClass): Kind {
  return {
    // The explorer recognizes a lazy type by the name of the function, which is that of the property here.
    schema: { type: () => dto() },
    read: (raw, source) => (isPlainObject(raw) ? readDto(dto(), raw, source) : raw),
    check: (value) => (isPlainObject(value) ? checkDto(value) : wrong('must be an object')),
  };
}

/** Named enums and DTOs are references, which the explorer creates. */
const isReferenced = (item: Kind): boolean =>
  'enumName' in item.schema || typeof (item.schema as { type?: unknown }).type === 'function';

export interface ListOptions {
  readonly minItems?: number;
  readonly maxItems?: number;
}

export function listOf(item: Kind, { minItems, maxItems }: ListOptions = {}): Kind {
  return {
    schema: {
      ...(isReferenced(item) ? { ...item.schema, isArray: true } : { type: 'array', items: item.schema }),
      ...(minItems !== undefined ? { minItems } : {}),
      ...(maxItems !== undefined ? { maxItems } : {}),
    } as SchemaOptions,
    read(raw, source) {
      // A repeatable query parameter that is sent once is text, not a list.
      const list: unknown = source === 'query' && typeof raw === 'string' ? [raw] : raw;
      return Array.isArray(list) ? list.map((element) => item.read(element, source)) : list;
    },
    check(value) {
      if (!Array.isArray(value)) return wrong('must be an array');
      if (minItems !== undefined && value.length < minItems) return wrong(`must have at least ${minItems} entries`);
      if (maxItems !== undefined && value.length > maxItems) return wrong(`must not exceed ${maxItems} entries`);
      return value.flatMap((element, index) => below(index, item.check(element)));
    },
  };
}

export interface MapOptions {
  readonly maxEntries?: number;
  readonly keyPattern?: RegExp;
  /** Completes "a key must be …" for the pattern. */
  readonly keySays?: string;
}

/** An object with arbitrary keys, parsed to a plain record. */
export function mapOf(item: Kind, { maxEntries, keyPattern, keySays }: MapOptions = {}): Kind {
  return {
    schema: {
      type: 'object',
      additionalProperties: nestedSchema(item),
      ...(maxEntries !== undefined ? { maxProperties: maxEntries } : {}),
    } as SchemaOptions,
    read: (raw, source) =>
      isPlainObject(raw)
        ? Object.fromEntries(Object.entries(raw).map(([key, value]) => [key, item.read(value, source)]))
        : raw,
    check(value) {
      if (!isPlainObject(value)) return wrong('must be an object');
      const entries = Object.entries(value);
      if (maxEntries !== undefined && entries.length > maxEntries)
        return wrong(`must not exceed ${maxEntries} entries`);
      return entries.flatMap(([key, entry]) =>
        keyPattern && !keyPattern.test(key)
          ? wrong(
              `is not a valid key: it must be ${keySays ?? `text that matches ${keyPattern.source}`}`,
              pointerOf(key),
            )
          : below(key, item.check(entry)),
      );
    },
  };
}
