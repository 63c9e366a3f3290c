/** Characters of an address, as given and in its canonical form. */
export const MAX_LOCATOR_LENGTH = 2048;

export type CanonicalUrl =
  { readonly kind: 'url'; readonly url: string } | { readonly kind: 'refused'; readonly detail: string };

const refused = (detail: string): CanonicalUrl => ({ kind: 'refused', detail });

/**
 * The one spelling of an address under which an external reference is stored and looked up; its own canonical form is
 * itself.
 *
 * Unified: case of scheme and host, IDNA, IPv4 notations, the scheme's default port, dot segments, all slashes at the
 * path's end (`https://h/` is `https://h`), an empty query, and what a URL cannot hold unescaped. Dropped: the fragment.
 * Kept: order, repetition and spelling of the query, slashes inside the path, escapes as they are written (`%2f` stays
 * apart from `%2F` and from `/`), a dot behind the host. Refused: other schemes than http and https, and credentials,
 * which would be found again in a response.
 */
export function canonicalUrl(text: string): CanonicalUrl {
  if (text.length > MAX_LOCATOR_LENGTH) return refused(`must not exceed ${MAX_LOCATOR_LENGTH} characters`);
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    return refused('must be an absolute http or https URL');
  if (url.username !== '' || url.password !== '') return refused('must not hold a user name or password');
  const canonical = `${url.protocol}//${url.host}${withoutEndSlashes(url.pathname)}${url.search}`;
  // Escaping makes an address longer; none that long is stored.
  return canonical.length > MAX_LOCATOR_LENGTH
    ? refused(`must not exceed ${MAX_LOCATOR_LENGTH} characters when it is escaped`)
    : { kind: 'url', url: canonical };
}

/** No regular expression: `/+$` looks at a long row of slashes once per slash. */
function withoutEndSlashes(path: string): string {
  let end = path.length;
  while (end > 0 && path[end - 1] === '/') end -= 1;
  return path.slice(0, end);
}
