import { Injectable } from '@nestjs/common';
import { Database, type Queryable, statement } from '#platform/persistence';
import { type AuditEvent, type ChainedEntry, type ChainHead, INSTALLATION_CHAIN } from './audit-entry.js';

export interface AuditFilter {
  /** An action, or with a dot at the end all actions of a resource: `member.` */
  readonly action?: string | undefined;
  readonly actorUid?: string | undefined;
  readonly targetUid?: string | undefined;
  readonly after?: Date | undefined;
  readonly before?: Date | undefined;
}

export interface StoredEntry extends ChainedEntry {
  readonly seq: number;
}

const APPEND = statement('audit.append')`SELECT headrace.append_audit_entry($1, $2::jsonb)`;
const COLUMNS = `seq::float8 AS seq, entry, encode(hash, 'hex') AS hash`;
const READ = statement('audit.read')`
  SELECT ${COLUMNS} FROM audit_log_entries WHERE chain = $1 AND seq > $2 ORDER BY audit_log_entries.seq LIMIT $3`;
const HEAD = statement('audit.head')`
  SELECT seq::float8 AS seq, encode(hash, 'hex') AS hash FROM audit_log_heads WHERE chain = $1`;

/** The append-only log of administrative operations and uses of secrets, with one chain of hashes for each team. */
@Injectable()
export class AuditLog {
  constructor(private readonly database: Database) {}

  /** `teamUid` null: of the installation. In a transaction, entries of the chain wait for its end. One round trip. */
  async append(teamUid: string | null, event: AuditEvent, tx: Queryable = this.database): Promise<void> {
    await tx.query(APPEND, [teamUid ?? INSTALLATION_CHAIN, JSON.stringify(event)]);
  }

  /** The newest first, those before `beforeSeq`. */
  list(chain: string, filter: AuditFilter, beforeSeq: number | null, limit: number): Promise<StoredEntry[]> {
    const conditions = ['chain = $1'];
    const values: unknown[] = [chain];
    const add = (value: unknown, condition: (parameter: string) => string): void => {
      if (value === undefined || value === null) return;
      values.push(value);
      conditions.push(condition(`$${values.length}`));
    };
    const isPrefix = filter.action?.endsWith('.') === true;
    add(filter.action, (action) => (isPrefix ? `starts_with(action, ${action})` : `action = ${action}`));
    add(filter.actorUid, (uid) => `actor_uid = ${uid}`);
    add(filter.targetUid, (uid) => `target_uid = ${uid}`);
    add(filter.after?.toISOString(), (time) => `occurred_at > ${time}`);
    add(filter.before?.toISOString(), (time) => `occurred_at < ${time}`);
    add(beforeSeq, (seq) => `audit_log_entries.seq < ${seq}`);
    values.push(limit);
    return this.database.query<StoredEntry>(
      `SELECT ${COLUMNS} FROM audit_log_entries WHERE ${conditions.join(' AND ')}
       ORDER BY audit_log_entries.seq DESC LIMIT $${values.length}`,
      values,
    );
  }

  /** The oldest first, those after `afterSeq`. */
  read(chain: string, afterSeq: number, limit: number): Promise<StoredEntry[]> {
    return this.database.query<StoredEntry>(READ, [chain, afterSeq, limit]);
  }

  async head(chain: string): Promise<ChainHead> {
    const [head] = await this.database.query<{ seq: number; hash: string }>(HEAD, [chain]);
    return head ?? { seq: 0, hash: '00'.repeat(32) };
  }
}
