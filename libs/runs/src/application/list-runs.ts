import { Injectable } from '@nestjs/common';
import type { Caller } from '#libs/auth';
import { Settings } from '#libs/config';
import { CursorCodec } from '#libs/kernel';
import type { Run } from '../domain/run.js';
import type { RunState } from '../domain/run-state.js';
import { RunQueries, type RunSort, type SortOrder } from '../persistence/run-queries.js';

export interface ListRunsQuery {
  readonly sort: RunSort;
  readonly order: SortOrder;
  readonly states: readonly RunState[] | null;
  readonly limit: number;
  readonly cursor: string | null;
}

export type ListRunsResult =
  | { readonly kind: 'page'; readonly runs: readonly Run[]; readonly nextCursor: string | null }
  | { readonly kind: 'bad_cursor' };

/** One page of the runs that the caller may see: those of the teams at hand, and a person's own. One round trip. */
@Injectable()
export class ListRuns {
  private readonly cursors: CursorCodec;

  constructor(
    private readonly queries: RunQueries,
    settings: Settings,
  ) {
    this.cursors = new CursorCodec(`run cursors ${settings.secretsKey ?? ''}`);
  }

  async execute(caller: Caller, query: ListRunsQuery): Promise<ListRunsResult> {
    const userUid = caller.principal.type === 'user' ? caller.principal.uid : null;
    const scope = { teamUids: caller.teamUids, userUid };
    const { sort, order, states, limit } = query;
    const identity = { scope, sort, order, states: states && [...states].sort() };
    const after = query.cursor === null ? null : this.cursors.decode(query.cursor, identity);
    if (query.cursor !== null && after === null) return { kind: 'bad_cursor' };
    const [value, id] = after ?? [];
    const position =
      after === null ? null : ([value === null || value === undefined ? null : String(value), String(id)] as const);
    const found = await this.queries.list({ scope, sort, order, states, limit: limit + 1, after: position });
    const page = found.slice(0, limit);
    const last = page.at(-1);
    return {
      kind: 'page',
      runs: page.map(({ run }) => run),
      nextCursor: found.length > limit && last ? this.cursors.encode(last.position, identity) : null,
    };
  }
}
