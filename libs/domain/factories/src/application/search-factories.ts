import { Injectable } from '@nestjs/common';
import { type Caller, can, type Role, roleIn } from '#platform/auth';
import { Settings } from '#platform/config';
import { PageCursors } from '#platform/kernel';
import { FactoriesStore } from '../persistence/factories.store.js';
import type { Factory } from './factory.js';

export interface SearchFactoriesQuery {
  /** Part of name, alias or description, in any case; null: all. */
  readonly text: string | null;
  readonly limit: number;
  readonly cursor: string | null;
}

export type SearchFactoriesResult =
  | { readonly kind: 'page'; readonly factories: readonly Factory[]; readonly nextCursor: string | null }
  | { readonly kind: 'bad_cursor' };

/** One page of the factories of the teams of the request, by name. */
@Injectable()
export class SearchFactories {
  private readonly cursors: PageCursors;

  constructor(
    private readonly store: FactoriesStore,
    settings: Settings,
  ) {
    this.cursors = new PageCursors('factory', settings);
  }

  async execute(
    { principal, teamUids: asked }: Caller,
    { text, limit, cursor }: SearchFactoriesQuery,
  ): Promise<SearchFactoriesResult> {
    const teamUids = asked.filter((teamUid) => mayRead(roleIn(principal, teamUid))).sort();
    const query = { teamUids, text };
    const position = this.cursors.decode(cursor, query);
    if (position === null) return { kind: 'bad_cursor' };
    const [name, uid] = position;
    const after = name === undefined ? null : { name: String(name), uid: String(uid) };
    const rows = await this.store.search({ teamUids, text, after, limit: limit + 1 });
    const { items: factories, nextCursor } = this.cursors.page(rows, limit, query, (last) => [last.name, last.uid]);
    return { kind: 'page', factories, nextCursor };
  }
}

const mayRead = (role: Role | null): boolean => role !== null && can(role, 'factories:read');
