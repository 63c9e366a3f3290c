import type { ForgeRef } from '#execution/runner-protocol';

/** What a request to the API of a forge is about. */
export type ApiPath =
  | { readonly kind: 'graphql' }
  /** Nothing of a repository, such as the signed-in user. */
  | { readonly kind: 'general'; readonly path: string }
  /** `name`: as {@link nameOnForge}, or the number of a project on GitLab. `rest`: below the repository, decoded. */
  | { readonly kind: 'repository'; readonly name: string; readonly rest: readonly string[] }
  | { readonly kind: 'other'; readonly path: string };

/** Reads a path without its query, as `gh` and `glab` send it. Null: a path that servers may read in different ways. */
export function readApiPath(type: ForgeRef['type'], raw: string): ApiPath | null {
  const segments = segmentsOf(raw);
  if (segments === null) return null;
  const hasPrefix = segments[0] === 'api' && segments[1] === (type === 'github' ? 'v3' : 'v4');
  const [first, ...more] = hasPrefix ? segments.slice(2) : segments;
  const path = encodePath([first ?? '', ...more]);
  if (!hasPrefix && (path === '/graphql' || path === '/api/graphql')) return { kind: 'graphql' };
  if (more.length === 0 && GENERAL[type].has(first ?? '')) return { kind: 'general', path };
  const named = type === 'github' ? 2 : 1;
  const names = more.slice(0, named);
  if (first !== (type === 'github' ? 'repos' : 'projects') || names.length < named) return { kind: 'other', path };
  // A slash that is encoded separates groups of GitLab only.
  if (type === 'github' && names.some((name) => name.includes('/'))) return { kind: 'other', path };
  return { kind: 'repository', name: names.join('/'), rest: more.slice(named) };
}

const GENERAL = {
  github: new Set(['', 'meta', 'rate_limit', 'user']),
  gitlab: new Set(['user', 'version']),
} as const satisfies Record<ForgeRef['type'], ReadonlySet<string>>;

/** Every server must read a path in the same way: dots, empty names and a second encoding are not accepted. */
function segmentsOf(raw: string): string[] | null {
  if (!raw.startsWith('/')) return null;
  const trimmed = raw.slice(1).replace(/\/$/, '');
  if (trimmed === '') return [];
  try {
    const segments = trimmed.split('/').map(decodeURIComponent);
    const names = segments.flatMap((segment) => segment.split('/'));
    const isPlain = (name: string): boolean => !/^\.{0,2}$|%[0-9a-f]{2}|[\\\p{Cc}]/iu.test(name);
    return names.every(isPlain) ? segments : null;
  } catch {
    return null;
  }
}

export const encodePath = (segments: readonly string[]): string =>
  `/${segments.map((segment) => encodeURIComponent(segment)).join('/')}`;

/** Parts of a repository that a request may change. Settings, keys, checks that protect branches and the repository itself are none. */
const WRITES: Readonly<Record<ForgeRef['type'], RegExp>> = {
  github:
    /^(?:(?:comments|contents|git|issues|labels|merges|milestones|pulls|releases)(?:\/|$)|commits\/[^/]+\/comments$|actions\/(?:jobs\/\d+\/rerun|runs\/\d+\/(?:cancel|force-cancel|rerun|rerun-failed-jobs)|workflows\/[^/]+\/dispatches)$)/,
  gitlab:
    /^(?:(?:issues|labels|merge_requests|milestones|releases|uploads)(?:\/|$)|repository\/(?:branches|commits|files|merged_branches|tags)(?:\/|$)|jobs\/\d+\/(?:cancel|play|retry)$|pipeline$|pipelines\/\d+\/(?:cancel|retry)$)/,
};
/** GitLab returns the values of variables and the tokens of triggers; GitHub returns no secret. */
const READS: Readonly<Record<ForgeRef['type'], RegExp>> = {
  github: /^/,
  gitlab:
    /^(?:$|(?:events|issues|jobs|labels|languages|members|merge_requests|milestones|packages|protected_branches|releases|repository|search|users)(?:\/|$)|pipelines(?:$|\/(?:latest|\d+)(?:$|\/(?:bridges|jobs|test_report|test_report_summary)$)))/,
};

/** Whether the requests contain texts that people read on the forge. */
export const hasTexts = (rest: readonly string[]): boolean =>
  /^(?:(?:comments|issues|merge_requests|pulls)(?:\/|$)|(?:repository\/)?commits\/.+\/(?:comments|discussions)(?:[/.]|$))/s.test(
    rest.join('/'),
  );

export const isRead = (method: string): boolean => method === 'GET' || method === 'HEAD';

/** Whether programs in a workspace may send the request. `rest`: what follows the repository. */
export function isAllowed(type: ForgeRef['type'], method: string, rest: readonly string[]): boolean {
  // An encoded slash counts as a slash, in case that the server reads it so.
  return (isRead(method) ? READS : WRITES)[type].test(rest.join('/'));
}
