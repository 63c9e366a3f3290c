import { computed, signal } from '@preact/signals';
import { BASE } from './base';

interface Place {
  /** Relative to the console, without slashes at its ends: `runs/123`. */
  readonly path: string;
  readonly query: URLSearchParams;
}

const read = (): Place => ({
  path: location.pathname.slice(BASE.length).replace(/^\/+|\/+$/g, ''),
  query: new URLSearchParams(location.search),
});

export const place = signal<Place>(read());
export const path = computed(() => place.value.path);
export const query = computed(() => place.value.query);

addEventListener('popstate', () => {
  place.value = read();
});

export const hrefOf = (to: string): string => `${BASE}${to.replace(/^\/+/, '')}`;

export function navigate(to: string, { replace = false } = {}): void {
  history[replace ? 'replaceState' : 'pushState'](null, '', hrefOf(to));
  place.value = read();
  if (!replace) scrollTo(0, 0);
}

/** Changes parameters of the URL; null or an empty text removes one. */
export function setQuery(changes: Readonly<Record<string, string | readonly string[] | null>>): void {
  const next = new URLSearchParams(place.value.query);
  for (const [name, value] of Object.entries(changes)) {
    next.delete(name);
    for (const one of value === null ? [] : [value].flat()) if (one !== '') next.append(name, one);
  }
  const text = next.toString();
  navigate(`${place.value.path}${text === '' ? '' : `?${text}`}`, { replace: true });
}

/** A click that stays in this tab is handled without loading the page again. */
export function followLink(event: MouseEvent): void {
  const link = (event.target as Element | null)?.closest('a');
  const isOther =
    event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey;
  if (!link || isOther || link.target !== '' || link.hasAttribute('download')) return;
  const url = new URL(link.href);
  if (url.origin !== location.origin || !url.pathname.startsWith(BASE) || url.hash !== '') return;
  event.preventDefault();
  navigate(url.pathname.slice(BASE.length) + url.search);
}
