import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { messageOf, type Schemas } from '../api/client';
import { Action } from './basics';

export interface Pages<T> {
  /** Undefined: they are not there yet. */
  readonly items: readonly T[] | undefined;
  readonly failure: string;
  readonly hasMore: boolean;
  readonly more: () => Promise<void>;
  /** As many as are shown, again. Never rejects: `failure` has the reason. */
  readonly reload: () => Promise<void>;
}

interface Page<T> {
  readonly items: readonly T[];
  readonly page_info: Schemas['PageInfo'];
}

/** A list that the API returns in pages, read again from its start when `key` changes. */
export function usePages<T>(read: (cursor: string | undefined) => Promise<Page<T>>, key: string): Pages<T> {
  const items = useSignal<readonly T[] | undefined>(undefined);
  const cursor = useSignal<string | undefined>(undefined);
  const failure = useSignal('');
  // Two reads may end in the other order: only the answer to the latest one counts.
  const latest = useRef(0);
  /** Reads pages until `count` items are there. */
  const collect = async (start: readonly T[], from: string | undefined, count: number): Promise<void> => {
    latest.current += 1;
    const own = latest.current;
    try {
      let found = start;
      let next = from;
      do {
        const page = await read(next);
        if (own !== latest.current) return;
        found = [...found, ...page.items];
        next = page.page_info.next_cursor;
      } while (next !== undefined && found.length < count);
      items.value = found;
      cursor.value = next;
      failure.value = '';
    } catch (error) {
      if (own === latest.current) failure.value = messageOf(error);
    }
  };
  const reload = (): Promise<void> => collect([], undefined, items.peek()?.length ?? 0);
  useEffect(() => {
    items.value = undefined;
    void reload();
  }, [key]);
  return {
    items: items.value,
    failure: failure.value,
    hasMore: cursor.value !== undefined,
    more: () => collect(items.peek() ?? [], cursor.peek(), 0),
    reload,
  };
}

export const More = ({ pages: { hasMore, more } }: { readonly pages: Pages<unknown> }) =>
  hasMore ? (
    <p class="empty">
      <Action run={more}>Show more</Action>
    </p>
  ) : null;
