import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';

export class PageInfo {
  @ApiProperty({ description: 'Whether another page follows.' })
  has_next_page: boolean;

  @ApiPropertyOptional({ description: 'Pass it as `cursor`, with the same filters and sort, to get the next page.' })
  next_cursor?: string;
}

/** The `page_info` of a response; `nextCursor` null on the last page. */
export const pageInfo = (nextCursor: string | null): PageInfo =>
  nextCursor === null ? { has_next_page: false } : { has_next_page: true, next_cursor: nextCursor };
