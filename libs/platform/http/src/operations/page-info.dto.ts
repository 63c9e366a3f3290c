import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';

export class PageInfo {
  @ApiProperty({ description: 'Whether another page follows.' })
  has_next_page: boolean;

  @ApiPropertyOptional({ description: 'Pass it as `cursor`, with the same filters and sort, to get the next page.' })
  next_cursor?: string;
}

/** A page of rows that were queried with `limit + 1`, so that it is known whether another page follows. */
export function page<T>(
  rows: readonly T[],
  limit: number,
  cursorOf: (last: T) => string,
): { items: T[]; page_info: PageInfo } {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  const more = rows.length > limit && last !== undefined;
  return { items, page_info: more ? { has_next_page: true, next_cursor: cursorOf(last) } : { has_next_page: false } };
}
