import { isDeeperThan, isObject } from '#platform/kernel';
import { AGENT_TEXT_MARK } from '#execution/runner-protocol';
import { RefusedError } from './api-messages.js';

/** Status of the answer to a request that servers may read in another way than the runner does. */
export const UNREADABLE = 415;

const MAX_DEPTH = 500;

export function refuseDeep(json: unknown): void {
  if (isDeeperThan(json, MAX_DEPTH))
    throw new RefusedError(
      UNREADABLE,
      `JSON in the body of the request must not be nested deeper than ${MAX_DEPTH} levels.`,
    );
}

/** Whether a field has the text of an issue, a request, a review or a comment. */
export const isText = (name: string): boolean => ['body', 'description', 'note'].includes(name);

/** A mark elsewhere is not enough: GitLab removes lines with quick actions. */
export const withMark = (text: string): string =>
  text.trimEnd().split('\n').at(-1) === AGENT_TEXT_MARK ? text : `${text}\n\n${AGENT_TEXT_MARK}`.trim();

/** Adds the mark to texts at any depth. */
export function markTexts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(markTexts);
  if (!isObject(value)) return value;
  return markFields(value, (_name, one) => markTexts(one));
}

export const markFields = (
  fields: Readonly<Record<string, unknown>>,
  markOther: (name: string, value: unknown) => unknown,
): object =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      isText(name) && typeof value === 'string' ? withMark(value) : markOther(name, value),
    ]),
  );
