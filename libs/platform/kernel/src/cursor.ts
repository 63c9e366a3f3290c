import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

export type CursorValue = string | number | null;

/** Opaque and signed. A cursor used with another sort or other filters is rejected like a forged one. */
export class CursorCodec {
  constructor(private readonly key: Buffer | string) {}

  /** `query` is everything that fixes order and filter, e.g. `{sort: 'created_at', order: 'desc', state: ['QUEUED']}`. */
  encode(position: readonly CursorValue[], query: unknown): string {
    const payload = Buffer.from(JSON.stringify(position));
    return `${payload.toString('base64url')}.${this.sign(payload, query).toString('base64url')}`;
  }

  /** The position, or null when the cursor is malformed, forged or belongs to another query. */
  decode(cursor: string, query: unknown): CursorValue[] | null {
    const [head, tail, rest] = cursor.split('.');
    if (!head || !tail || rest !== undefined || cursor.length > 4096) return null;
    const payload = Buffer.from(head, 'base64url');
    const given = Buffer.from(tail, 'base64url');
    const wanted = this.sign(payload, query);
    if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) return null;
    return JSON.parse(payload.toString()) as CursorValue[];
  }

  private sign(payload: Buffer, query: unknown): Buffer {
    const digest = createHash('sha256').update(JSON.stringify(query)).digest();
    return createHmac('sha256', this.key).update(payload).update(digest).digest().subarray(0, 16);
  }
}

export class PageCursors extends CursorCodec {
  /** `list` distinguishes the cursors of the lists: no list accepts one of another list. */
  constructor(list: string, { secretsKey = '' }: { readonly secretsKey?: string | undefined }) {
    super(`${list} cursors ${secretsKey}`);
  }

  /** The position after which the page begins, empty for the first page; null for an invalid cursor. */
  override decode(cursor: string | null, query: unknown): CursorValue[] | null {
    return cursor === null ? [] : super.decode(cursor, query);
  }

  /** Cuts rows that were read with `limit + 1` to a page, with the cursor of the next page if there is one. */
  page<Row>(
    rows: readonly Row[],
    limit: number,
    query: unknown,
    positionOf: (last: Row) => readonly CursorValue[],
  ): { readonly items: readonly Row[]; readonly nextCursor: string | null } {
    const items = rows.slice(0, limit);
    const last = items.at(-1);
    const hasMore = rows.length > limit && last !== undefined;
    return { items, nextCursor: hasMore ? this.encode(positionOf(last), query) : null };
  }
}
