import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';

export class PageInfo {
  @ApiProperty({ description: 'Whether there is more after this page.' })
  has_next_page: boolean;

  @ApiPropertyOptional({ description: 'Pass it as `cursor`, with the same filters and sort, to get the next page.' })
  next_cursor?: string;
}

/** Cuts a list that was asked for with `limit + 1` rows, and says whether there is more. */
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
