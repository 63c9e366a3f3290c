import { Injectable } from '@nestjs/common';
import { Database, type Statement } from '#libs/persistence';
import type { Run } from '../domain/run.js';
import type { RunState } from '../domain/run-state.js';
import { LIVE_EXECUTION_JOIN, RUN_COLUMNS, type RunRow, toRun } from './run-rows.js';

const FIND: Statement = {
  name: 'runs.find',
  text: `SELECT ${RUN_COLUMNS}, r.prompt FROM runs r ${LIVE_EXECUTION_JOIN} WHERE r.id = $1`,
};

const FIND_FOR_ASSIGNMENT: Statement = {
  name: 'runs.find-for-assignment',
  text: `SELECT ${RUN_COLUMNS}, r.prompt, r.prompt_taken, r.transcript IS NOT NULL AS has_transcript FROM runs r ${LIVE_EXECUTION_JOIN} WHERE r.id = $1`,
};

export const RUN_SORTS = ['updated_at', 'created_at', 'title', 'agent'] as const;
export type RunSort = (typeof RUN_SORTS)[number];
export type SortOrder = 'asc' | 'desc';

/** Who asks: the teams whose runs are listed, and the person whose own runs are. */
export interface RunScope {
  readonly teamUids: readonly string[];
  readonly userUid: string | null;
}

export interface RunListQuery {
  readonly scope: RunScope;
  readonly sort: RunSort;
  readonly order: SortOrder;
  readonly states: readonly RunState[] | null;
  readonly limit: number;
  /** Sort value (as text) and id of the last row seen. */
  readonly after: readonly [string | null, string] | null;
}

export interface ListedRun {
  readonly run: Run;
  readonly position: readonly [string | null, string];
}

const SORT_COLUMN: Record<RunSort, { column: string; type: string }> = {
  updated_at: { column: 'r.updated_at', type: 'timestamptz' },
  created_at: { column: 'r.created_at', type: 'timestamptz' },
  title: { column: 'r.title', type: 'text' },
  agent: { column: 'r.skill_spec', type: 'text' },
};

/** In lists `prompt` holds the first 2,048 characters. */
const LIST_PROMPT = 'left(r.prompt, 2048) AS prompt';

@Injectable()
export class RunQueries {
  constructor(private readonly database: Database) {}

  async find(runId: string): Promise<Run | null> {
    const [row] = await this.database.query<RunRow & Record<string, unknown>>(FIND, [runId]);
    return row ? toRun(row) : null;
  }

  async findForAssignment(runId: string): Promise<{ run: Run; promptTaken: boolean; hasTranscript: boolean } | null> {
    const [row] = await this.database.query<RunRow & { prompt_taken: boolean; has_transcript: boolean }>(
      FIND_FOR_ASSIGNMENT,
      [runId],
    );
    return row ? { run: toRun(row), promptTaken: row.prompt_taken, hasTranscript: row.has_transcript } : null;
  }

  /** One keyset query per scope, merged: an OR over owner and teams would lose the index's order. */
  async list(query: RunListQuery): Promise<ListedRun[]> {
    const { column, type } = SORT_COLUMN[query.sort];
    const values: unknown[] = [];
    const bind = (value: unknown): string => `$${values.push(value)}`;
    const conditions: string[] = [];
    if (query.states) conditions.push(`r.state = ANY(${bind(query.states)})`);
    if (query.after) conditions.push(keyset(column, type, query, bind));
    const limit = bind(query.limit);
    const order = `ORDER BY sort_value ${query.order} NULLS LAST, id ${query.order} LIMIT ${limit}`;
    const branch = (owner: string): string =>
      `(SELECT r.id, ${column} AS sort_value FROM runs r WHERE ${[owner, ...conditions].join(' AND ')}
         ORDER BY ${column} ${query.order} NULLS LAST, r.id ${query.order} LIMIT ${limit})`;
    const owners = query.scope.teamUids.map((teamUid) => `r.team_uid = ${bind(teamUid)}`);
    if (query.scope.userUid !== null) owners.push(`r.owner_user_uid = ${bind(query.scope.userUid)}`);
    if (owners.length === 0) return [];
    const rows = await this.database.query<RunRow & { sort_text: string | null }>(
      `WITH page AS (SELECT id, sort_value FROM (${owners.map(branch).join(' UNION ALL ')}) u ${order})
       SELECT ${RUN_COLUMNS}, ${LIST_PROMPT}, page.sort_value::text AS sort_text
         FROM page JOIN runs r ON r.id = page.id ${LIVE_EXECUTION_JOIN}
        ORDER BY page.sort_value ${query.order} NULLS LAST, page.id ${query.order}`,
      values,
    );
    return rows.map((row) => ({ run: toRun(row), position: [row.sort_text, row.id] }));
  }
}

/** "Behind the last row" in the asked order, with rows that have no value last in both directions. */
function keyset(column: string, type: string, query: RunListQuery, bind: (value: unknown) => string): string {
  const [value, id] = query.after ?? [null, ''];
  const compare = query.order === 'asc' ? '>' : '<';
  const idParameter = `${bind(id)}::uuid`;
  if (value === null) return `(${column} IS NULL AND r.id ${compare} ${idParameter})`;
  const valueParameter = `${bind(value)}::${type}`;
  const behind = `(${column}, r.id) ${compare} (${valueParameter}, ${idParameter})`;
  return query.sort === 'agent' ? `(${behind} OR ${column} IS NULL)` : behind;
}
