import { type ReadonlySignal, useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import type { Row } from './rows';

/** Rows beyond the window that are elements too, so that the next screen is there before it is scrolled to. */
const OVERSCAN_PX = 500;
/** Closer to its end than this, the page follows new content. */
const END_PX = 40;

/** Where a reader is: what a list in another density scrolls to. */
export interface Position {
  /** Null: at the end, which the page follows. 0: at the top of the page. */
  at: number | null;
}

/** Instead of the id of a row: the end of the page, which is followed from then on. */
export const END = '';

export interface ScrollRequest {
  readonly id: string;
  /** Distinguishes two requests for the same row. */
  readonly number: number;
}

interface VirtualListProps {
  readonly rows: readonly Row[];
  readonly label: string;
  readonly class: string;
  readonly position: Position;
  readonly request: ReadonlySignal<ScrollRequest | null>;
  /** Height of a row that was not shown yet. */
  readonly estimate: (row: Row) => number;
  readonly children: (row: Row) => VNode;
  /** After each change of the elements. */
  readonly onRendered?: (list: HTMLElement) => void;
}

/**
 * A list of which only the rows in the window are elements. The page scrolls and not the list. What a reader sees stays in its
 * place when rows above it change their heights, and at the end of the page the end is followed.
 */
export function VirtualList(props: VirtualListProps) {
  const { rows, position, request, estimate } = props;
  const list = useRef<HTMLOListElement>(null);
  const heights = useRef(new Map<string, number>());
  const version = useSignal(0);
  const range = useSignal({ from: Math.max(0, rows.length - 20), to: rows.length });
  /** The first visible row, and its distance from the upper edge of the window. */
  const anchor = useRef<{ readonly id: string; readonly top: number } | null>(null);
  const target = useRef<string | null>(null);
  const handled = useRef(0);

  const offsets = useMemo(() => {
    const sums = new Float64Array(rows.length + 1);
    for (let index = 0; index < rows.length; index += 1) {
      const row = rows[index];
      sums[index + 1] = (sums[index] ?? 0) + (row === undefined ? 0 : (heights.current.get(row.id) ?? estimate(row)));
    }
    return sums;
  }, [rows, version.value]);
  const total = offsets[rows.length] ?? 0;

  const indexAt = (offset: number): number => {
    let low = 0;
    let high = rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((offsets[middle + 1] ?? 0) <= offset) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const select = (): void => {
    if (list.current === null) return;
    const { top } = list.current.getBoundingClientRect();
    const from = indexAt(-top - OVERSCAN_PX);
    const to = Math.min(rows.length, indexAt(innerHeight - top + OVERSCAN_PX) + 1);
    if (from !== range.peek().from || to !== range.peek().to) range.value = { from, to };
  };
  const elementOf = (id: string): HTMLElement | null => list.current?.querySelector(`[data-row="${id}"]`) ?? null;
  const remember = (): void => {
    if (list.current === null) return;
    const root = document.documentElement;
    const isAtEnd = root.scrollHeight - scrollY - innerHeight < END_PX;
    const top = barHeight();
    for (const element of list.current.children) {
      const box = element.getBoundingClientRect();
      if (box.bottom <= top) continue;
      anchor.current = { id: (element as HTMLElement).dataset['row'] ?? '', top: box.top };
      break;
    }
    const row = rows.find(({ id }) => id === anchor.current?.id);
    if (target.current !== null || (position.at === 0 && scrollY === 0)) return;
    position.at = isAtEnd ? null : scrollY === 0 ? 0 : (row?.at ?? position.at ?? 0);
  };
  const measure = (): boolean => {
    let isChanged = false;
    for (const element of list.current?.children ?? []) {
      const id = (element as HTMLElement).dataset['row'] ?? '';
      const { height } = element.getBoundingClientRect();
      if (Math.abs((heights.current.get(id) ?? -1) - height) < 0.5) continue;
      heights.current.set(id, height);
      isChanged = true;
    }
    return isChanged;
  };
  /** Moves the page so that the reader sees what they saw, or what was asked for. */
  const restore = (): void => {
    if (list.current === null) return;
    if (target.current !== null) {
      const index = rows.findIndex(({ id }) => id === target.current);
      const element = elementOf(target.current);
      const listTop = list.current.getBoundingClientRect().top;
      const top = element ? element.getBoundingClientRect().top : listTop + (offsets[index] ?? 0);
      const distance = top - barHeight() - 12;
      if (index >= 0 && Math.abs(distance) > 1) scrollBy(0, distance);
    } else if (position.at === null) scrollTo(0, document.documentElement.scrollHeight);
    else if (position.at !== 0 && anchor.current !== null) {
      const element = elementOf(anchor.current.id);
      const moved = element === null ? 0 : element.getBoundingClientRect().top - anchor.current.top;
      if (Math.abs(moved) > 1) scrollBy(0, moved);
    }
  };

  useLayoutEffect(() => {
    // Another density opens where the reader was.
    // 0: the page stays at its top.
    if (position.at === null || position.at === 0 || request.value !== null) return;
    const wanted = position.at;
    const index = rows.findIndex(({ at }) => at >= wanted);
    target.current = rows[index < 0 ? rows.length - 1 : index]?.id ?? null;
  }, []);
  useLayoutEffect(() => {
    const asked = request.value;
    if (asked === null || asked.number === handled.current) return;
    if (asked.id !== END && !rows.some(({ id }) => id === asked.id)) return;
    handled.current = asked.number;
    target.current = asked.id === END ? null : asked.id;
    position.at = asked.id === END ? null : (rows.find(({ id }) => id === asked.id)?.at ?? 0);
    version.value += 1;
  }, [request.value, rows]);
  useLayoutEffect(() => {
    const isChanged = measure();
    restore();
    select();
    if (isChanged) version.value += 1;
    else {
      if (list.current) props.onRendered?.(list.current);
      // It is in its place: from now on the reader decides.
      if (target.current !== null && elementOf(target.current) !== null) target.current = null;
      remember();
    }
  });
  const current = useRef({ select, remember, measure, restore });
  current.current = { select, remember, measure, restore };
  useEffect(() => {
    const onScroll = (): void => {
      current.current.remember();
      current.current.select();
    };
    const observer = new ResizeObserver(() => {
      if (current.current.measure()) version.value += 1;
      else current.current.restore();
    });
    if (list.current) observer.observe(list.current);
    // What is below the list changes too, such as a permission request.
    observer.observe(document.body);
    addEventListener('scroll', onScroll, { passive: true });
    addEventListener('resize', onScroll);
    return () => {
      observer.disconnect();
      removeEventListener('scroll', onScroll);
      removeEventListener('resize', onScroll);
    };
  }, []);

  const { from, to } = range.value;
  const first = Math.min(from, rows.length);
  const last = Math.min(to, rows.length);
  return (
    <ol
      ref={list}
      class={props.class}
      aria-label={props.label}
      style={{
        paddingTop: `${offsets[first] ?? 0}px`,
        paddingBottom: `${total - (offsets[last] ?? 0)}px`,
      }}
    >
      {rows.slice(first, last).map(props.children)}
    </ol>
  );
}

/** What covers the upper edge of the page. */
const barHeight = (): number => Math.max(0, document.querySelector('.run-bar')?.getBoundingClientRect().height ?? 0);
