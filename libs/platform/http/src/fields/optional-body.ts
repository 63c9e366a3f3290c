import type { DtoClass } from './read-dto.js';

const optional = new WeakSet<DtoClass>();

/** A DTO that means the same without a body as with `{}`. Say so in the document too: `@ApiBody({ type, required: false })`. */
export function optionalBody(dto: DtoClass): void {
  optional.add(dto);
}

export const isOptionalBody = (dto: DtoClass): boolean => optional.has(dto);
