import { createHash } from 'node:crypto';
import type { Statement } from '#platform/persistence';
import type { RunListQuery } from './run-list-parts.js';
import type { ListStatement } from './run-list-sql.js';

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

  /** What to send for the page: the statement with its name when it is prepared. */
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
