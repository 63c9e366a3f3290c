import { Injectable } from '@nestjs/common';
import { type Caller, isAllowed, roleIn } from '#platform/auth';
import { Settings } from '#platform/config';
import { newUid, PageCursors, type RejectionOf } from '#platform/kernel';
import { FOREIGN_KEY_VIOLATION, type Queryable, sqlState, UNIQUE_VIOLATION } from '#platform/persistence';
import {
  FactoriesStore,
  type Factory,
  type FactoryFields,
  type FactorySearch,
} from '../persistence/factories.store.js';

export type CreateFactoryCommand = Pick<Factory, 'teamUid' | 'name'> & Partial<FactoryFields>;

export type SearchFactoriesQuery = Pick<FactorySearch, 'text' | 'limit'> & { readonly cursor: string | null };

/** A factory of another team is not found; `forbidden` is for members whose role does not suffice. */
export type FactoryRejection = RejectionOf<'not_found' | 'forbidden'>;

type CreateFactoryResult =
  | { readonly kind: 'created'; readonly factory: Factory }
  | { readonly kind: 'alias_taken' | 'unknown_team' };

type ManagedFactory = { readonly kind: 'found'; readonly factory: Factory } | FactoryRejection;

type FactoryPage =
  | { readonly kind: 'page'; readonly items: readonly Factory[]; readonly nextCursor: string | null }
  | RejectionOf<'invalid_cursor'>;

@Injectable()
export class FactoriesService {
  private readonly cursors: PageCursors;

  constructor(
    private readonly store: FactoriesStore,
    settings: Settings,
  ) {
    this.cursors = new PageCursors('factory', settings);
  }

  async create({ teamUid, name, description = '', alias = null }: CreateFactoryCommand): Promise<CreateFactoryResult> {
    try {
      const factory = await this.store.insert(newUid(), teamUid, { name, description, alias });
      return { kind: 'created' as const, factory };
    } catch (error) {
      if (sqlState(error) === UNIQUE_VIOLATION) return { kind: 'alias_taken' as const };
      if (sqlState(error) === FOREIGN_KEY_VIOLATION) return { kind: 'unknown_team' as const };
      throw error;
    }
  }

  /** In any team, without a decision about a caller. */
  find(uid: string): Promise<Factory | null> {
    return this.store.find(uid);
  }

  /** Through the permission to manage it. One round trip. */
  async getManaged(caller: Caller, uid: string): Promise<ManagedFactory> {
    const factory = await this.store.find(uid);
    if (!factory) return { kind: 'not_found' as const };
    return manageRejection(caller, factory.teamUid) ?? { kind: 'found' as const, factory };
  }

  /** Factories of all teams, oldest first, for the command line. */
  list(limit: number): Promise<Factory[]> {
    return this.store.list(limit);
  }

  async search(caller: Caller, { text, limit, cursor }: SearchFactoriesQuery): Promise<FactoryPage> {
    const teamUids = [...caller.teamUids].sort();
    const query = { teamUids, text };
    const position = this.cursors.decode(cursor, query);
    if (position === null) return { kind: 'invalid_cursor' as const };
    const [name, uid] = position;
    const after = name === undefined ? null : { name: String(name), uid: String(uid) };
    const rows = await this.store.search({ teamUids, text, after, limit: limit + 1 });
    return { kind: 'page' as const, ...this.cursors.page(rows, limit, query, (last) => [last.name, last.uid]) };
  }

  lock(tx: Queryable, uid: string): Promise<Factory | null> {
    return this.store.lock(tx, uid);
  }

  /** `alias_taken`: another factory of the team has the alias; nothing is changed, and the transaction can continue. */
  update(tx: Queryable, uid: string, fields: FactoryFields): Promise<'updated' | 'alias_taken'> {
    return this.store.update(tx, uid, fields);
  }

  /** For a transaction that has {@link lock}ed it: from now on nothing can refer to it until the transaction ends. */
  lockForDelete(tx: Queryable, uid: string): Promise<void> {
    return this.store.lockForDelete(tx, uid);
  }

  /** Also deletes what was applied to it. Fails when something else refers to it. */
  delete(tx: Queryable, uid: string): Promise<void> {
    return this.store.delete(tx, uid);
  }

  async isAliasTaken(tx: Queryable, { uid, teamUid }: Factory, alias: string): Promise<boolean> {
    const holder = await this.store.findByAlias(tx, teamUid, alias);
    return holder !== null && holder.uid !== uid;
  }
}

/** Why the caller may not manage what belongs to a factory of this team; null when they may. */
export function manageRejection(caller: Caller, teamUid: string): FactoryRejection | null {
  if (roleIn(caller.principal, teamUid) === null) return { kind: 'not_found' };
  return isAllowed(caller, { teamUid, userUid: null }, 'factories:manage') ? null : { kind: 'forbidden' };
}
