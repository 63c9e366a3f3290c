/** Of a list without pages. */
export const MAX_LISTED_BYTES = 8 * 1024 * 1024;

export interface ListedRows {
  /** A query with the columns `uid`, `owner` and `bytes`: what a row adds to a response. */
  readonly rows: string;
  /** Rows that the list may have. Default: any number of the size. */
  readonly max?: number;
  /** A column of the rows, if there is one list for each of its values. */
  readonly listBy?: string;
}

/**
 * SQL: the `uid` of the rows that fit in a list without pages, of at most 8 MiB. Owners take turns, each with its smallest row first:
 * large rows do not displace small ones, and those of one owner not those of others.
 */
export const listedUids = ({ rows, max, listBy }: ListedRows): string => `
  SELECT uid FROM (
    SELECT uid, row_number() OVER listed AS place, sum(bytes) OVER listed AS total
      FROM (SELECT *, row_number() OVER (PARTITION BY owner ORDER BY bytes, uid) AS turn FROM (${rows}) visible
             WHERE bytes <= ${MAX_LISTED_BYTES}) ordered
    WINDOW listed AS (${listBy === undefined ? '' : `PARTITION BY ${listBy} `}ORDER BY turn, bytes, uid ROWS UNBOUNDED PRECEDING)) measured
   WHERE total <= ${MAX_LISTED_BYTES}${max === undefined ? '' : ` AND place <= ${max}`}`;
