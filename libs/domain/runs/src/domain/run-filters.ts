import type { RunState } from '#execution/executions';
import { isUuid } from '#platform/kernel';
import type { RunExecutionLocation, RunSourceType } from './run.js';

export interface RunFilters {
  readonly states?: readonly RunState[];
  readonly name?: string;
  /** The model of the configuration, or the one of its harness. */
  readonly modelId?: string;
  readonly creatorUid?: string;
  readonly executorUid?: string;
  /** Any of them. */
  readonly sources?: readonly RunSourceType[];
  readonly executionLocation?: RunExecutionLocation;
  /** The host that the configuration of the run names. */
  readonly workerHost?: string;
  /** An environment's uid, or {@link EMPTY_ENVIRONMENT} for runs that have none. */
  readonly environmentId?: string;
  readonly skillSpec?: string;
  readonly scheduleId?: string;
  /** A run above it, at any distance. */
  readonly ancestorRunId?: string;
  /** The run whose input it was created with. */
  readonly rerunOf?: string;
  /** The run from whose snapshot it has started. */
  readonly forkedFrom?: string;
  /** Each pair of each map. */
  readonly metadata?: readonly Metadata[];
  readonly artifactType?: string;
  /** Any of these factories. */
  readonly factoryUids?: readonly string[];
  /** Only runs of a factory, whichever it is. */
  readonly factoryOnly?: boolean;
  /** Any of them. */
  readonly taskStatuses?: readonly TaskStatus[];
  /** Strictly later, in whole milliseconds, which is how times are shown. */
  readonly createdAfter?: Date;
  /** Strictly earlier, likewise. */
  readonly createdBefore?: Date;
  readonly updatedAfter?: Date;
  readonly search?: RunSearch;
}

/** Text to find: every term, wherever it stands, or the one run that has this id. */
export interface RunSearch {
  readonly terms: readonly SearchTerm[];
  readonly runId: string | null;
}

/** State of a run as one task: `running` also while a run below it is active, whatever its own state. */
export const TASK_STATUSES = ['running', 'failed', 'blocked', 'cancelled', 'complete'] as const;
export type TaskStatus = (typeof TASK_STATUSES)[number];

export const STATES_OF_STATUS: { readonly [S in TaskStatus]: readonly RunState[] } = {
  running: ['QUEUED', 'PENDING', 'CLAIMED', 'INPROGRESS'],
  failed: ['FAILED', 'ERROR'],
  blocked: ['BLOCKED'],
  cancelled: ['CANCELLED'],
  complete: ['SUCCEEDED'],
};

export const EMPTY_ENVIRONMENT = 'empty-environment';

export const MAX_METADATA_KEYS = 20;

export type Metadata = Readonly<Record<string, string>>;

/**
 * Labels of a new run: the request's win over the parent's, those over what the platform stamps. Null when there are
 * none; `too_many` when they are more than a run may carry.
 */
export function mergeMetadata(
  request: Metadata | null,
  parent: Metadata | null,
  automatic: Metadata | null,
): Metadata | 'too_many' | null {
  const merged = { ...automatic, ...parent, ...request };
  const count = Object.keys(merged).length;
  if (count > MAX_METADATA_KEYS) return 'too_many';
  return count === 0 ? null : merged;
}

export interface SearchTerm {
  /** Letters and digits; as typed, until the database has folded them like the text that they are looked for in. */
  readonly word: string;
  /** The word is taken for a misspelling: words that begin like it, but for one letter, count too. */
  readonly fuzzy: boolean;
  /** Of a misspelling, when they are known: no other run can match. */
  readonly candidates?: RunCandidates;
}

/** The runs with these ids, those whose text contains one of the words, and those whose ids are later than `after`. */
export interface RunCandidates {
  readonly runIds: readonly string[];
  readonly words: readonly string[];
  readonly after: string;
}

export const MAX_SEARCH_LENGTH = 256;
export const MAX_SEARCH_TERMS = 8;
export const SEARCHABLE = /[\p{L}\p{N}]/u;

const RUN_URL = /^https?:\/\/\S+\/runs\/([0-9a-f-]{36})(?:[/?#]\S*)?$/i;

/** The id of the run when the text is an id, or the address of a page or resource of a run; else null. */
export function runIdIn(text: string): string | null {
  const whole = text.trim();
  const id = (RUN_URL.exec(whole)?.[1] ?? whole).toLowerCase();
  return isUuid(id) ? id : null;
}

const WORD = /[\p{L}\p{M}\p{N}]+/gu;
export const MAX_MISSPELT_LENGTH = 40;
/**
 * Shorter words have too many neighbours; numbers are not spelled. Each letter makes up to four variants of the word's
 * length: PostgreSQL needs hundreds of megabytes for the pattern of 160 letters, and refuses longer ones.
 */
const MAY_BE_MISSPELT = new RegExp(`^[\\p{L}\\p{M}]{4,${MAX_MISSPELT_LENGTH}}$`, 'u');
const MIN_ANY_EDIT = 5;

export function searchWords(text: string): string[] {
  const words = new Map<string, string>();
  for (const word of text.match(WORD) ?? []) {
    const key = word.toLowerCase();
    if (!words.has(key)) words.set(key, word);
  }
  return [...words.values()];
}

export function mayBeMisspelt(word: string): boolean {
  return MAY_BE_MISSPELT.test(word);
}

/**
 * A regular expression for words that begin with `word` but for one edit: two neighbours swapped and, from five letters
 * on, one letter another, missing or too much. `letter` and `notLetter` are classes of the regular expression dialect; without
 * `notLetter`, the pattern is compared with single words. The words hold nothing that would have to be escaped.
 */
export function typoPattern(word: string, letter: string, notLetter: string | null): string {
  const letters = [...word];
  const variants = new Set<string>();
  const put = (from: number, to: number, middle: string): void =>
    void variants.add(letters.slice(0, from).join('') + middle + letters.slice(to).join(''));
  letters.forEach((current, index) => {
    const next = letters[index + 1];
    if (next !== undefined) put(index, index + 2, next + current);
    if (letters.length < MIN_ANY_EDIT) return;
    put(index, index + 1, letter);
    put(index, index + 1, '');
    if (index > 0) put(index, index, letter);
  });
  const start = notLetter === null ? '^' : `(^|${notLetter})`;
  return `${start}(${[word, ...variants].join('|')})`;
}
