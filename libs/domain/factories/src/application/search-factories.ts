import { Injectable } from '@nestjs/common';
import { type Caller, can, type Role, roleIn } from '#platform/auth';
import { Settings } from '#platform/config';
import { CursorCodec } from '#platform/kernel';
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

/** One page of the factories of the teams at hand, by name. */
@Injectable()
export class SearchFactories {
  private readonly cursors: CursorCodec;

  constructor(
    private readonly store: FactoriesStore,
    settings: Settings,
  ) {
    this.cursors = new CursorCodec(`factory cursors ${settings.secretsKey ?? ''}`);
  }

  async execute(
    { principal, teamUids: asked }: Caller,
    { text, limit, cursor }: SearchFactoriesQuery,
  ): Promise<SearchFactoriesResult> {
    const teamUids = asked.filter((teamUid) => mayRead(roleIn(principal, teamUid))).sort();
    const query = { teamUids, text };
    const position = cursor === null ? null : this.cursors.decode(cursor, query);
    if (cursor !== null && position === null) return { kind: 'bad_cursor' };
    const after = position && { name: String(position[0]), uid: String(position[1]) };
    const rows = await this.store.search({ teamUids, text, after, limit: limit + 1 });
    const factories = rows.slice(0, limit);
    const last = factories.at(-1);
    const nextCursor = rows.length > limit && last ? this.cursors.encode([last.name, last.uid], query) : null;
    return { kind: 'page', factories, nextCursor };
  }
}

const mayRead = (role: Role | null): boolean => role !== null && can(role, 'factories:read');
