import { parseUrl } from '#platform/kernel';
import { AGENT_TEXT_MARK } from '#execution/runner-protocol';
import { valueAt } from '../placeholders.js';

type Path = readonly (string | number)[];

/** Null unless the value is text that is not empty. */
export function textAt(payload: unknown, ...path: Path): string | null {
  const value = valueAt(payload, path);
  return typeof value === 'string' && value !== '' ? value : null;
}

/** A number as text; null unless the value is a positive integer. */
export function numberAt(payload: unknown, ...path: Path): string | null {
  const value = valueAt(payload, path);
  return Number.isSafeInteger(value) && (value as number) > 0 ? String(value) : null;
}

export function listAt(payload: unknown, ...path: Path): readonly unknown[] {
  const value = valueAt(payload, path);
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}

/** The texts under `key` of the objects in a list. */
export const textsAt = (payload: unknown, path: Path, key: string): string[] =>
  listAt(payload, ...path).flatMap((item) => textAt(item, key) ?? []);

/** Null unless the value is an address on the web. */
export function urlAt(payload: unknown, ...path: Path): string | null {
  const text = textAt(payload, ...path);
  const url = text === null || text.length > 2048 ? null : parseUrl(text);
  return url?.protocol === 'https:' || url?.protocol === 'http:' ? url.href : null;
}

/** The files that the commits of a push have changed; GitHub and GitLab describe commits in the same way. */
export function changedPaths(payload: unknown): string[] {
  const changed = listAt(payload, 'commits').flatMap((commit) =>
    ['added', 'modified', 'removed'].flatMap((kind) => listAt(commit, kind)),
  );
  return [...new Set(changed.filter((path) => typeof path === 'string'))];
}

/** Empty unless the value is an address on the web. */
export function hostAt(payload: unknown, ...path: Path): string {
  const url = urlAt(payload, ...path);
  return url === null ? '' : new URL(url).host;
}

/** Whether a run has written the text. */
export const isMarked = (text: string | null): boolean => text?.includes(AGENT_TEXT_MARK) === true;
