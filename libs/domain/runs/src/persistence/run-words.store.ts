import { Injectable } from '@nestjs/common';
import type { Queryable } from '#platform/persistence';
import { MAX_MISSPELT_LENGTH, type RunCandidates, typoPattern } from '../domain/run-filters.js';

/** A word with more runs is frequent: the inverted index of the texts finds its runs. */
const MAX_RUNS = 16;
/** Words that begin like a misspelt one, except for one edit. If they are more, the texts are searched directly. */
const MAX_WORDS = 500;
const MAX_FREQUENT_WORDS = 16;
/** Newer runs that a search compares one by one, because their words may not be collected yet. */
const MAX_UNCOLLECTED = 20_000;

/** At most one character of a match is no letter of the misspelt word, and a match has at least four characters. */
const MIN_LENGTH = 4;
const MAX_LENGTH = MAX_MISSPELT_LENGTH + 1;

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
 * The words of `run_words`. A word is what a match of {@link typoPattern} can contain of a sequence of letters and digits:
 * its first characters, up to the second digit.
 */
@Injectable()
export class RunWordsStore {
  /** For each of the misspelt words: where its matches can be; null if the words do not limit that enough. */
  async find(tx: Queryable, owners: readonly string[], terms: readonly string[]): Promise<(RunCandidates | null)[]> {
    const place = (index: number): string => `$${index + 2}::text`;
    const patterns = terms.map((word) => typoPattern(word, '[[:alnum:]]', null));
    const branches = terms.map(
      (_, index) => `(SELECT ${index} AS term, w.word, w.run_ids FROM run_words w
         WHERE w.slot_key = ANY($1::text[]) AND w.word ~ ${place(terms.length + index)} LIMIT ${MAX_WORDS + 1})`,
    );
    // The subquery without a row has the collation that decides what a letter is.
    const complete = terms.map(
      (_, index) => `coalesce((SELECT word FROM run_words LIMIT 0), ${place(index)}) ~ '^[[:alnum:]]+$'`,
    );
    const rows = await tx.query<FoundWord>(
      `SELECT p.upto, EXISTS (SELECT FROM run_facets f WHERE f.run_id > p.upto OFFSET ${MAX_UNCOLLECTED}) AS "isBehind",
              ARRAY[${complete.join(', ')}] AS complete, w.term, w.word, w.run_ids AS "runIds"
         FROM run_word_progress p LEFT JOIN (${branches.join(' UNION ALL ')}) w ON true`,
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
      progress.slotKey,
      progress.word,
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

/** Words that are frequent already are not written, and of a word only the first runs are added. */
const ADD_WORDS = `WITH texts AS MATERIALIZED (
  SELECT run_id, slot_key, search FROM run_facets WHERE run_id > $1 AND run_id <= $2
), parts AS (
  SELECT t.slot_key, p.part, array_agg(t.run_id) AS run_ids
    FROM texts t CROSS JOIN LATERAL regexp_split_to_table(t.search, '[^[:alnum:]]+') p (part)
   WHERE length(p.part) >= ${MIN_LENGTH} GROUP BY t.slot_key, p.part
), found AS (
  SELECT slot_key, left(substring(part FROM '^[^0-9]*[0-9]?[^0-9]*'), ${MAX_LENGTH}) AS word, run_ids FROM parts
), fresh AS MATERIALIZED (
  SELECT n.* FROM found n WHERE length(n.word) >= ${MIN_LENGTH} AND NOT EXISTS (
    SELECT FROM run_words w WHERE w.slot_key = n.slot_key AND w.word = n.word AND cardinality(w.run_ids) > ${MAX_RUNS})
)
INSERT INTO run_words AS w (slot_key, word, run_ids)
SELECT n.slot_key, n.word, (array_agg(DISTINCT i.id))[1:${MAX_RUNS + 1}] FROM fresh n CROSS JOIN LATERAL unnest(n.run_ids) i (id)
 GROUP BY n.slot_key, n.word
ON CONFLICT (slot_key, word) DO UPDATE
  SET run_ids = ARRAY(SELECT DISTINCT unnest(w.run_ids || excluded.run_ids) LIMIT ${MAX_RUNS + 1})`;

/** The runs of a frequent word are looked up again only when none of those that are known exists any more. */
const CHECK_WORDS = `WITH page AS MATERIALIZED (
  SELECT slot_key, word, run_ids FROM run_words WHERE (slot_key, word) > ($1, $2) ORDER BY slot_key, word LIMIT $3
), known AS MATERIALIZED (
  SELECT p.*, ARRAY(SELECT f.run_id FROM run_facets f WHERE f.run_id = ANY(p.run_ids)) AS existing FROM page p
), now AS MATERIALIZED (
  SELECT k.slot_key, k.word, k.run_ids, CASE
      WHEN cardinality(k.run_ids) <= ${MAX_RUNS} THEN k.existing
      WHEN cardinality(k.existing) > 0 THEN k.run_ids
      ELSE ARRAY(SELECT f.run_id FROM run_facets f
        WHERE f.slot_key = k.slot_key AND f.search LIKE '%' || k.word || '%' AND f.search ~ ('(^|[^[:alnum:]])' || k.word)
          AND f.run_id <= (SELECT upto FROM run_word_progress) LIMIT ${MAX_RUNS + 1})
    END AS right_ids FROM known k
), deleted AS (
  DELETE FROM run_words w USING now n WHERE w.slot_key = n.slot_key AND w.word = n.word AND cardinality(n.right_ids) = 0
), changed AS (
  UPDATE run_words w SET run_ids = n.right_ids FROM now n
   WHERE w.slot_key = n.slot_key AND w.word = n.word AND cardinality(n.right_ids) > 0 AND n.right_ids <> n.run_ids
     AND (cardinality(n.run_ids) > ${MAX_RUNS} OR cardinality(n.right_ids) < cardinality(n.run_ids))
)
SELECT slot_key AS "slotKey", word FROM page ORDER BY slot_key, word`;
