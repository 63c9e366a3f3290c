import { invalidCursor, PageInfo, pageInfo } from '#platform/http';
import { PageCursors } from '#platform/kernel';

const DEFAULT_LIMIT = 100;

/** A page of a list whose order is that of texts. `query`: what fixes the filter; a cursor is valid for the same one only. */
export async function pageOf<Row>(
  cursors: PageCursors,
  { limit = DEFAULT_LIMIT, cursor }: { readonly limit?: number | undefined; readonly cursor?: string | undefined },
  query: unknown,
  read: (after: readonly string[] | null, limit: number) => Promise<Row[]>,
  positionOf: (last: Row) => readonly string[],
): Promise<{ readonly items: readonly Row[]; readonly page_info: PageInfo }> {
  const position = cursors.decode(cursor ?? null, query);
  if (position === null) throw invalidCursor('this list');
  const rows = await read(position.length === 0 ? null : position.map(String), limit + 1);
  const { items, nextCursor } = cursors.page(rows, limit, query, positionOf);
  return { items, page_info: pageInfo(nextCursor) };
}
