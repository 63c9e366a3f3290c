import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { Settings } from '#platform/config';
import { KeyedSemaphore } from '#platform/kernel';
import { Database, QUERY_CANCELED, type Queryable, sqlState, type Statement } from '#platform/persistence';
import type { Run } from '../domain/run.js';
import { mayBeMisspelt, type SearchTerm } from '../domain/run-filters.js';
import { type RunListQuery, type RunPosition, SORTS } from './run-list-parts.js';
import { fullStatement, type ListStatement, orderedStatement, probeStatement, WALK_SETTINGS } from './run-list-sql.js';
import { RunWordsStore } from './run-words.store.js';
import { type RunRow, toRun } from './runs.store.js';

export interface ListedRun {
  readonly run: Run;
  readonly position: RunPosition;
}

export interface FoundPage {
  /** Fewer than were asked for when they are large. */
  readonly runs: readonly ListedRun[];
  readonly hasMore: boolean;
  /** How the words of the search were read; a later page must read them the same. */
  readonly terms: readonly SearchTerm[];
}

type ListRow = RunRow & { sort_text: string | null; found: number };
/** Without an id: a page without runs. */
type ProbeRow = ListRow & { complete: boolean };

/** Tables of this kind are never read whole for one page, whatever the planner expects of a rare value. */
export const SEARCH_SETTINGS = { enable_seqscan: 'off' };

const WAITING_PER_PERMIT = 4;
const MAX_WAIT_MS = 2000;

/** Why a search has no result. `busy`: too many searches at once. */
export type SearchFailure = 'too_slow' | 'busy';

@Injectable()
export class RunLists {
  private readonly shapes = new ListShapes();
  private readonly semaphore: KeyedSemaphore;

  constructor(
    private readonly database: Database,
    private readonly settings: Settings,
    private readonly words: RunWordsStore,
  ) {
    const total = Math.max(1, Math.floor(settings.databasePoolSize / 4));
    this.semaphore = new KeyedSemaphore({ total, maxWaiting: total * WAITING_PER_PERMIT, maxWaitMs: MAX_WAIT_MS });
  }

  /**
   * Few searches run at once, so that slow ones leave most of the database connections to other requests; further ones wait
   * in their order, for a short time. `search` reads by {@link reading}.
   */
  async limited<T extends object>(search: () => Promise<T>): Promise<T | SearchFailure> {
    try {
      return (await this.semaphore.run('', search)) ?? 'busy';
    } catch (error) {
      if (sqlState(error) === QUERY_CANCELED) return 'too_slow';
      throw error;
    }
  }

  /** A page of a list that an index holds in its order. One round trip; its cost does not depend on how many runs there are. */
  async ordered(query: RunListQuery): Promise<FoundPage> {
    const page = orderedStatement(query);
    const statement = this.shapes.statementOf(query, page);
    const read = (from: Queryable): Promise<ListRow[]> => from.query<ListRow>(statement, page.values);
    const rows = await (SORTS[query.sort].isReplanned
      ? this.database.reading(WALK_SETTINGS, read)
      : read(this.database));
    return toPage(rows, []);
  }

  /** `resolve`: a word of the search that occurs nowhere in the owners' runs is taken for a misspelling. */
  async searched(query: RunListQuery, resolve: boolean): Promise<FoundPage> {
    const { search } = query.filters;
    if (!search) return this.search(query, []);
    const folded = await fold(this.database, search.terms);
    const terms = resolve ? await this.readTerms(query, folded) : folded;
    return this.search({ ...query, filters: { ...query.filters, search: { ...search, terms } } }, terms);
  }

  /** Along the order first; where the values are too rare for that, the complete answer. */
  private async search(query: RunListQuery, terms: readonly SearchTerm[]): Promise<FoundPage> {
    const near = probeStatement(query);
    const statement = this.shapes.statementOf(query, near);
    const rows = await this.reading(WALK_SETTINGS, (tx) => tx.query<ProbeRow>(statement, near.values));
    if (rows[0]?.complete) return toPage(isEmptyPage(rows) ? [] : rows, terms);
    const found = await this.reading(SEARCH_SETTINGS, async (tx) => {
      const whole = fullStatement(await this.withCandidates(tx, query));
      return tx.query<ListRow>(whole.text, whole.values);
    });
    return toPage(found, terms);
  }

  /** Misspelt words are looked up among the words of the runs, which are few compared with their texts. */
  private async withCandidates(tx: Queryable, query: RunListQuery): Promise<RunListQuery> {
    const { search } = query.filters;
    const misspelt = search?.terms.filter(({ fuzzy }) => fuzzy).map(({ word }) => word) ?? [];
    if (!search || misspelt.length === 0) return query;
    const found = await this.words.find(tx, query.owners, misspelt);
    const terms = search.terms.map((term): SearchTerm => {
      const candidates = term.fuzzy ? found[misspelt.indexOf(term.word)] : null;
      return candidates ? { ...term, candidates } : term;
    });
    return { ...query, filters: { ...query.filters, search: { ...search, terms } } };
  }

  private async readTerms(query: RunListQuery, terms: readonly SearchTerm[]): Promise<SearchTerm[]> {
    const doubtful = terms.filter(({ word }) => mayBeMisspelt(word));
    if (doubtful.length === 0) return [...terms];
    const known = await this.reading(SEARCH_SETTINGS, (tx) =>
      this.words.known(
        tx,
        query.owners,
        doubtful.map(({ word }) => word),
      ),
    );
    return terms.map(({ word }) => ({ word, fuzzy: mayBeMisspelt(word) && !known.has(word) }));
  }

  /** Reads within `RUN_LIST_TIMEOUT`, else SQLSTATE 57014. */
  reading<T>(settings: Readonly<Record<string, string>>, work: (tx: Queryable) => Promise<T>): Promise<T> {
    return this.database.reading({ ...settings, statement_timeout: String(this.settings.runListTimeout) }, work);
  }
}

const isEmptyPage = ([first]: readonly { readonly id: string | null }[]): boolean => first?.id === null;

const toPage = (rows: readonly ListRow[], terms: readonly SearchTerm[]): FoundPage => ({
  runs: rows.map((row) => ({ run: toRun(row), position: [row.sort_text, row.id] })),
  hasMore: (rows[0]?.found ?? 0) > rows.length,
  terms,
});

/** By the very function that has folded the text. One round trip, or none without words. */
async function fold(database: Queryable, terms: readonly SearchTerm[]): Promise<SearchTerm[]> {
  if (terms.length === 0) return [];
  const [row] = await database.query<{ words: string[] }>(
    `SELECT ARRAY(SELECT headrace.search_fold(w.word) FROM unnest($1::text[]) WITH ORDINALITY w (word, ord) ORDER BY w.ord) AS words`,
    [terms.map(({ word }) => word)],
  );
  return terms.map((term, index) => ({ ...term, word: row?.words[index] ?? term.word }));
}

/** Page sizes that are worth a prepared statement: with the one run more that tells whether there is a next page. */
const LIMITS = new Set([21, 51, 101]);
const MAX_OWNERS = 2;
/** A prepared list takes some 300 KB of each connection that has served it. */
const MAX_PREPARED = 64;
/** Lists that were asked for so often will be asked for again. */
const WORTHY = 3;
const MAX_COUNTED = 1000;

/**
 * Which lists are prepared. Reading and planning the statement of a page costs more than executing it, but a connection
 * keeps what it has prepared, and filters combine to more lists than it could keep: the first that come often are chosen.
 */
export class ListShapes {
  private readonly prepared = new Map<string, Statement>();
  private readonly counts = new Map<string, number>();

  statementOf({ owners, limit, filters }: RunListQuery, { text }: ListStatement): Statement | string {
    if (owners.length > MAX_OWNERS || !LIMITS.has(limit) || filters.search) return text;
    return this.prepared.get(text) ?? (this.isWorthy(text) ? this.prepare(text) : text);
  }

  private isWorthy(text: string): boolean {
    if (this.prepared.size >= MAX_PREPARED) return false;
    if (this.counts.size >= MAX_COUNTED) this.counts.clear();
    const count = (this.counts.get(text) ?? 0) + 1;
    this.counts.set(text, count);
    return count >= WORTHY;
  }

  private prepare(text: string): Statement {
    const statement = { name: `runs.list.${createHash('sha256').update(text).digest('base64url').slice(0, 16)}`, text };
    this.prepared.set(text, statement);
    this.counts.delete(text);
    return statement;
  }
}
