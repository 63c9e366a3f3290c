import { Injectable } from '@nestjs/common';
import type { Queryable } from '#platform/persistence';
import { MAX_MISSPELT_LENGTH, type RunCandidates, typoPattern } from '../domain/run-filters.js';

/** A word with more runs is frequent: the inverted index of the texts finds its runs. */
const MAX_RUNS = 16;
/** Words that begin like a misspelt one, except for one edit. If they are more, the texts are searched directly. */
const MAX_WORDS = 500;
const MAX_FREQUENT_WORDS = 16;
/** Runs that are searched for a word before the collected words are. */
const RECENT = 200;
/** Newer runs that a search compares one by one, because their words may not be collected yet. */
const MAX_UNCOLLECTED = 20_000;

/** A word with a misspelling that it is a match of has at least as many characters; others are not collected. */
const MIN_LENGTH = 4;
/** Longer words are cut into parts that overlap, so that a misspelt word that occurs is in one of them. */
const MAX_LENGTH = 2 * MAX_MISSPELT_LENGTH;

interface OccurringWord {
  readonly word: string;
  readonly isRecent: boolean;
  /** Whether the collected words decide it, if none of the runs behind `upto` has the word. */
  readonly isAbsent: boolean;
  readonly upto: string;
}

interface FoundWord {
  readonly upto: string;
  readonly isBehind: boolean;
  /** Which of the terms consist of characters that a word can have. */
  readonly complete: readonly boolean[];
  /** Null: no word was found at all. */
  readonly term: number | null;
  readonly word: string;
  readonly runIds: readonly string[];
}

/**
 * The words of `run_words`. Texts consist of sequences of letters and digits. A misspelt word has no digit and its match at most
 * one, so the first word of a sequence ends before its second digit, and the others are what is between the digits behind it.
 */
@Injectable()
export class RunWordsStore {
  /** Which of the words occur in the texts of runs; recent runs first, because most words that are looked for are in them. */
  async known(tx: Queryable, owners: readonly string[], words: readonly string[]): Promise<ReadonlySet<string>> {
    const recent = owners
      .map(
        (_, index) =>
          `(SELECT r.id FROM runs r WHERE r.slot_key = $${index + 3} ORDER BY r.updated_at DESC, r.id DESC LIMIT ${RECENT})`,
      )
      .join(' UNION ALL ');
    // Counted, because PostgreSQL expects a first word soon and would read the primary key until it finds one.
    const occurring = await tx.query<OccurringWord>(
      `WITH recent AS MATERIALIZED (SELECT f.search FROM (${recent}) u JOIN run_facets f ON f.run_id = u.id)
       SELECT x.*, CASE WHEN x."isRecent" OR ${isBehind('x')} OR NOT ${isWord('x.word')} THEN false
           ELSE (SELECT count(*) = 0 FROM run_words w WHERE w.slot_key = ANY($1::text[]) AND w.word LIKE '%' || x.word || '%')
         END AS "isAbsent"
         FROM (SELECT t.word, p.upto, EXISTS (SELECT FROM recent WHERE recent.search LIKE '%' || t.word || '%') AS "isRecent"
                 FROM unnest($2::text[]) t (word) CROSS JOIN run_word_progress p OFFSET 0) x`,
      [owners, words, ...owners],
    );
    const known = occurring.filter(({ isRecent }) => isRecent).map(({ word }) => word);
    const others = occurring.filter(({ isRecent }) => !isRecent);
    const upto = others[0]?.upto;
    if (upto === undefined) return new Set(known);
    const absent = others.filter(({ isAbsent }) => isAbsent).map(({ word }) => word);
    const possible = others.filter(({ isAbsent }) => !isAbsent).map(({ word }) => word);
    // Expressions, so that the identifiers limit what is read.
    const found = await tx.query<{ word: string }>(
      `SELECT w.word FROM unnest($1::text[]) w (word)
        WHERE EXISTS (SELECT FROM run_facets f WHERE f.slot_key = ANY($3::text[]) AND f.search LIKE '%' || w.word || '%')
       UNION ALL
       SELECT w.word FROM unnest($2::text[]) w (word)
        WHERE EXISTS (SELECT FROM run_facets f WHERE f.run_id > $4::uuid
          AND (f.slot_key || '') = ANY($3::text[]) AND (f.search || '') LIKE '%' || w.word || '%')`,
      [possible, absent, owners, upto],
    );
    return new Set([...known, ...found.map(({ word }) => word)]);
  }

  /** For each of the misspelt words: where its matches can be; null if the words do not limit that enough. */
  async find(tx: Queryable, owners: readonly string[], terms: readonly string[]): Promise<(RunCandidates | null)[]> {
    const place = (index: number): string => `$${index + 2}::text`;
    const patterns = terms.map((word) => typoPattern(word, '[[:alnum:]]', null));
    const matches = terms.map(
      (_, index) => `m${index} AS MATERIALIZED (SELECT ${index} AS term, w.word, w.run_ids FROM run_words w
         WHERE w.slot_key = ANY($1::text[]) AND w.word ~ ${place(terms.length + index)})`,
    );
    const limited = terms.map((_, index) => `(SELECT * FROM m${index} LIMIT ${MAX_WORDS + 1})`);
    const rows = await tx.query<FoundWord>(
      `WITH ${matches.join(', ')}
       SELECT p.upto, ${isBehind('p')} AS "isBehind",
              ARRAY[${terms.map((_, index) => isWord(place(index))).join(', ')}] AS complete, w.term, w.word, w.run_ids AS "runIds"
         FROM run_word_progress p LEFT JOIN (${limited.join(' UNION ALL ')}) w ON true`,
      [owners, ...terms, ...patterns],
    );
    return terms.map((_, index) => candidatesOf(rows, index));
  }

  /** Adds the words of the next runs, up to `limit` of them. Returns how many there were. */
  async collect(tx: Queryable, limit: number): Promise<number> {
    const [progress] = await tx.query<{ upto: string }>(`SELECT upto FROM run_word_progress FOR UPDATE SKIP LOCKED`);
    if (!progress) return 0;
    // Up to there, all runs have facets, and no run with an earlier id is committed any more.
    const [next] = await tx.query<{ to: string | null; count: number }>(
      `SELECT (array_agg(run_id ORDER BY run_id DESC))[1] AS to, count(*)::int AS count
         FROM (SELECT f.run_id FROM run_facets f
                WHERE f.run_id > $1 AND f.run_id <= (SELECT upto FROM facet_repairs) ORDER BY f.run_id LIMIT $2) n`,
      [progress.upto, limit],
    );
    if (!next?.to) return 0;
    await tx.query(ADD_WORDS, [progress.upto, next.to]);
    await tx.query(`UPDATE run_word_progress SET upto = $1`, [next.to]);
    return next.count;
  }

  /** Removes deleted runs from the next words, up to `limit` of them, and words without runs. Returns how many were checked. */
  async check(tx: Queryable, limit: number): Promise<number> {
    const [progress] = await tx.query<{ slotKey: string; word: string }>(
      `SELECT checked_slot_key AS "slotKey", checked_word AS word FROM run_word_progress FOR UPDATE SKIP LOCKED`,
    );
    if (!progress) return 0;
    const words = await tx.query<{ slotKey: string; word: string }>(CHECK_WORDS, [
      progress.word,
      progress.slotKey,
      limit,
    ]);
    const last = words.length === limit ? words.at(-1) : undefined;
    await tx.query(`UPDATE run_word_progress SET checked_slot_key = $1, checked_word = $2`, [
      last?.slotKey ?? '',
      last?.word ?? '',
    ]);
    return words.length;
  }
}

const isBehind = (alias: string): string =>
  `EXISTS (SELECT FROM run_facets f WHERE f.run_id > ${alias}.upto OFFSET ${MAX_UNCOLLECTED})`;
/** The subquery without a row has the collation that decides what a letter is. */
const isWord = (place: string): string => `coalesce((SELECT word FROM run_words LIMIT 0), ${place}) ~ '^[[:alnum:]]+$'`;

function candidatesOf(rows: readonly FoundWord[], index: number): RunCandidates | null {
  const [first] = rows;
  if (!first || first.isBehind || first.complete[index] !== true) return null;
  const words = rows.filter(({ term }) => term === index);
  const frequent = words.filter(({ runIds }) => runIds.length > MAX_RUNS);
  if (words.length > MAX_WORDS || frequent.length > MAX_FREQUENT_WORDS) return null;
  const rare = words.filter(({ runIds }) => runIds.length <= MAX_RUNS);
  return {
    runIds: [...new Set(rare.flatMap(({ runIds }) => runIds))],
    words: [...new Set(frequent.map(({ word }) => word))],
    after: first.upto,
  };
}

/**
 * Words that are frequent already are not written, and of a word only the first runs are added. A scalar subquery is probed for
 * each word; a join would read all words of the table for each batch.
 */
const ADD_WORDS = `WITH texts AS MATERIALIZED (
  SELECT run_id, slot_key, search FROM run_facets WHERE run_id > $1 AND run_id <= $2
), parts AS (
  SELECT t.slot_key, p.part, array_agg(t.run_id) AS run_ids
    FROM texts t CROSS JOIN LATERAL regexp_split_to_table(t.search, '[^[:alnum:]]+') p (part)
   WHERE length(p.part) >= ${MIN_LENGTH} GROUP BY t.slot_key, p.part
), heads AS (
  SELECT slot_key, part, substring(part FROM '^[^0-9]*[0-9]?[^0-9]*') AS head, run_ids FROM parts
), found AS (
  SELECT h.slot_key, substr(s.segment, 1 + k * ${MAX_MISSPELT_LENGTH}, ${MAX_LENGTH}) AS word, h.run_ids
    FROM heads h
   CROSS JOIN LATERAL (SELECT h.head UNION ALL SELECT regexp_split_to_table(substr(h.part, length(h.head) + 1), '[0-9]+')) s (segment)
   CROSS JOIN LATERAL generate_series(0, (length(s.segment) - ${MAX_MISSPELT_LENGTH + 1}) / ${MAX_MISSPELT_LENGTH}) k
), fresh AS MATERIALIZED (
  SELECT n.* FROM found n WHERE length(n.word) >= ${MIN_LENGTH}
     AND coalesce((SELECT cardinality(w.run_ids) FROM run_words w WHERE w.word = n.word AND w.slot_key = n.slot_key), 0) <= ${MAX_RUNS}
)
INSERT INTO run_words AS w (slot_key, word, run_ids)
SELECT n.slot_key, n.word, (array_agg(DISTINCT i.id))[1:${MAX_RUNS + 1}] FROM fresh n CROSS JOIN LATERAL unnest(n.run_ids) i (id)
 GROUP BY n.slot_key, n.word
ON CONFLICT (word, slot_key) DO UPDATE
  SET run_ids = ARRAY(SELECT DISTINCT unnest(w.run_ids || excluded.run_ids) LIMIT ${MAX_RUNS + 1})`;

/**
 * The runs of a frequent word are looked up again only when none of those that are known exists any more. Texts in which it is a part
 * of another word only cost time: a word may be the part of a sequence behind a digit.
 */
const CHECK_WORDS = `WITH page AS MATERIALIZED (
  SELECT slot_key, word, run_ids FROM run_words WHERE (word, slot_key) > ($1, $2) ORDER BY word, slot_key LIMIT $3
), known AS MATERIALIZED (
  SELECT p.*, ARRAY(SELECT f.run_id FROM run_facets f WHERE f.run_id = ANY(p.run_ids)) AS existing FROM page p
), now AS MATERIALIZED (
  SELECT k.slot_key, k.word, k.run_ids, CASE
      WHEN cardinality(k.run_ids) <= ${MAX_RUNS} THEN k.existing
      WHEN cardinality(k.existing) > 0 THEN k.run_ids
      ELSE ARRAY(SELECT f.run_id FROM run_facets f
        WHERE f.slot_key = k.slot_key AND f.search LIKE '%' || k.word || '%'
          AND f.run_id <= (SELECT upto FROM run_word_progress) LIMIT ${MAX_RUNS + 1})
    END AS right_ids FROM known k
), deleted AS (
  DELETE FROM run_words w USING now n WHERE w.slot_key = n.slot_key AND w.word = n.word AND cardinality(n.right_ids) = 0
), changed AS (
  UPDATE run_words w SET run_ids = n.right_ids FROM now n
   WHERE w.slot_key = n.slot_key AND w.word = n.word AND cardinality(n.right_ids) > 0 AND n.right_ids <> n.run_ids
     AND (cardinality(n.run_ids) > ${MAX_RUNS} OR cardinality(n.right_ids) < cardinality(n.run_ids))
)
SELECT slot_key AS "slotKey", word FROM page ORDER BY page.word, page.slot_key`;
