import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Settings } from '#libs/config';
import { Database, type Queryable, type Statement } from '#libs/persistence';
import type { Run } from '../domain/run.js';
import { mayBeMisspelt, type SearchTerm } from '../domain/search-terms.js';
import { listStatement, type RunListQuery, type RunPosition } from './run-list-sql.js';
import { type RunRow, toRun } from './run-rows.js';

export interface ListedRun {
  readonly run: Run;
  readonly position: RunPosition;
}

export interface FoundPage {
  /** Fewer than were asked for when they are large. */
  readonly runs: readonly ListedRun[];
  /** Whether more runs follow. */
  readonly goesOn: boolean;
  /** How the words of the search were read; a later page must read them the same. */
  readonly terms: readonly SearchTerm[];
}

type ListRow = RunRow & { sort_text: string | null; found: number };

/** Runs that are looked at for a word before the index is asked whether it occurs at all. */
const RECENT = 200;
/** Page sizes that are worth a prepared statement a connection: with the one run more that tells whether there is a next page. */
const PREPARED_LIMITS = new Set([21, 51, 101]);
const MAX_PREPARED_OWNERS = 2;

@Injectable()
export class RunLists {
  constructor(
    private readonly database: Database,
    private readonly settings: Settings,
  ) {}

  /** A page of a list that an index holds in its order. One round trip; its cost does not depend on how many runs there are. */
  async ordered(query: RunListQuery): Promise<FoundPage> {
    const { text, values } = listStatement(query);
    const statement = isPrepared(query) ? named(text) : text;
    return toPage(await this.database.query<ListRow & Record<string, unknown>>(statement, values), []);
  }

  /**
   * A page of a list whose filters the order does not serve; within `LIST_TIMEOUT`, else SQLSTATE 57014. With `resolve`
   * the words of the search are read: one that occurs nowhere in the owners' runs is taken for a misspelling.
   */
  async searched(query: RunListQuery, resolve: boolean): Promise<FoundPage> {
    // Tables of this kind are never read whole for one page, whatever the planner expects of a rare value.
    const local = { statement_timeout: String(this.settings.listTimeout), enable_seqscan: 'off' };
    return this.database.reading(local, async (tx) => {
      const { search } = query.filters;
      const folded = await fold(tx, search?.terms ?? []);
      const terms = resolve ? await readTerms(tx, query, folded) : folded;
      const filters = search ? { ...query.filters, search: { ...search, terms } } : query.filters;
      const { text, values } = listStatement({ ...query, filters });
      const rows = await tx.query<ListRow & Record<string, unknown>>(text, values);
      return toPage(rows, terms);
    });
  }
}

const toPage = (rows: readonly ListRow[], terms: readonly SearchTerm[]): FoundPage => ({
  runs: rows.map((row) => ({ run: toRun(row), position: [row.sort_text, row.id] })),
  goesOn: (rows[0]?.found ?? 0) > rows.length,
  terms,
});

function isPrepared({ owners, limit, filters }: RunListQuery): boolean {
  return owners.length <= MAX_PREPARED_OWNERS && PREPARED_LIMITS.has(limit) && (filters.states?.length ?? 0) <= 1;
}

const named = (text: string): Statement => ({
  name: `runs.list.${createHash('sha256').update(text).digest('base64url').slice(0, 16)}`,
  text,
});

/** By the very function that has folded the text. One round trip, or none without words. */
async function fold(tx: Queryable, terms: readonly SearchTerm[]): Promise<SearchTerm[]> {
  if (terms.length === 0) return [];
  const [row] = await tx.query<{ words: string[] }>(
    `SELECT ARRAY(SELECT headrace.search_fold(w.word) FROM unnest($1::text[]) WITH ORDINALITY w (word, ord) ORDER BY w.ord) AS words`,
    [terms.map(({ word }) => word)],
  );
  return terms.map((term, index) => ({ ...term, word: row?.words[index] ?? term.word }));
}

/** Which of the words occur; recent runs first, because most words that are looked for are in them. */
async function readTerms(tx: Queryable, { owners }: RunListQuery, terms: readonly SearchTerm[]): Promise<SearchTerm[]> {
  const doubtful = terms.filter(({ word }) => mayBeMisspelt(word));
  if (doubtful.length === 0) return [...terms];
  const recent = owners
    .map(
      (_, index) =>
        `(SELECT r.id FROM runs r WHERE r.slot_key = $${index + 2} ORDER BY r.updated_at DESC, r.id DESC LIMIT ${RECENT})`,
    )
    .join(' UNION ALL ');
  const rows = await tx.query<{ word: string }>(
    `WITH recent AS MATERIALIZED (SELECT f.search FROM (${recent}) u JOIN run_facets f ON f.run_id = u.id)
     SELECT w.word FROM unnest($1::text[]) w (word)
      WHERE EXISTS (SELECT FROM recent WHERE recent.search LIKE '%' || w.word || '%')
         OR EXISTS (SELECT FROM run_facets f WHERE f.slot_key = ANY($${owners.length + 2}::text[]) AND f.search LIKE '%' || w.word || '%')`,
    [doubtful.map(({ word }) => word), ...owners, owners],
  );
  const known = new Set(rows.map(({ word }) => word));
  return terms.map(({ word }) => ({ word, fuzzy: mayBeMisspelt(word) && !known.has(word) }));
}
