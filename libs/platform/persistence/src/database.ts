import { Injectable, Logger } from '@nestjs/common';
import type { ClientBase, Pool, PoolClient, QueryResultRow } from 'pg';
import { DataSource } from 'typeorm';
import { isDatabaseUnavailable, sqlState } from './database-error.js';
import { surviveConnectionLoss } from './survive-connection-loss.js';

/** Prepared once per connection, for hot paths: see docs/adr. Names must be unique per text. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** Makes a named statement: statement('runs.touch')`UPDATE …`. What is interpolated is SQL and never input. */
export const statement =
  (name: string) =>
  (text: TemplateStringsArray, ...sql: readonly (string | number)[]): Statement => ({
    name,
    text: String.raw({ raw: text }, ...sql),
  });

/** Runs statements: the pool, or one transaction. */
export interface Queryable {
  query<Row extends QueryResultRow>(statement: Statement | string, values?: readonly unknown[]): Promise<Row[]>;
}

/** One transaction, whose statements are executed on one connection. */
export interface Transaction extends Queryable {
  /** Calls the function when the transaction is committed, before its caller continues; never after a rollback. An error of it is logged. */
  afterCommit(callback: () => void): void;
}

const toConfig = (statement: Statement | string, values: readonly unknown[]) =>
  typeof statement === 'string'
    ? { text: statement, values: [...values] }
    : { name: statement.name, text: statement.text, values: [...values] };

/** SQL over TypeORM's connection pool. Every table lives in schema `headrace`, which is the connections' search path. */
@Injectable()
export class Database implements Queryable {
  private readonly logger = new Logger(Database.name);

  constructor(private readonly dataSource: DataSource) {
    surviveConnectionLoss(this.pool);
  }

  query<Row extends QueryResultRow>(statement: Statement | string, values?: readonly unknown[]): Promise<Row[]> {
    // The pool closes a connection whose statement failed.
    return this.reported(queryOn(this.pool).query<Row>(statement, values));
  }

  /** Rejects when the database cannot be reached, or accepts no writes, as a standby does. */
  async assertWritable(): Promise<void> {
    const client = await this.connect();
    let isWritable = false;
    try {
      const { rows } = await client.query<{ is_read_only: boolean }>(IS_READ_ONLY);
      isWritable = rows[0]?.is_read_only === false;
    } finally {
      // A session may stay read-only after the database accepts writes again, or belong to a former primary.
      client.release(!isWritable);
    }
    if (!isWritable) throw new Error('The database is read-only.');
  }

  /**
   * One transaction on one connection; commits when `work` resolves, rolls back when it throws. It begins in the round trip of
   * its first statement. Statements of `work` that do not wait for each other, such as those in a `Promise.all`, share a round
   * trip and are executed in the order in which they are sent.
   */
  async transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const client = await this.connect();
    const connection = queryOn(client);
    let isOpen = true;
    let firstFailure: unknown;
    let result: T;
    const committed: (() => void)[] = [];
    const tx: Transaction = {
      afterCommit: (callback) => void committed.push(callback),
      query<Row extends QueryResultRow>(statement: Statement | string, values?: readonly unknown[]): Promise<Row[]> {
        // What a failed part of `work` has left running must not reach the connection when it has its next owner.
        if (!isOpen) return Promise.reject(new Error('The transaction has ended.'));
        const result = connection.query<Row>(statement, values);
        result.catch((error: unknown) => (firstFailure ??= error));
        return result;
      },
    };
    try {
      const [beginning, worked] = await Promise.allSettled([client.query('BEGIN'), work(tx)]);
      isOpen = false;
      if (beginning.status === 'rejected') throw beginning.reason;
      // A statement that was sent behind the one that has failed may be the first to reject.
      if (worked.status === 'rejected')
        throw sqlState(worked.reason) === IN_FAILED_TRANSACTION ? firstFailure : worked.reason;
      result = worked.value;
      await client.query('COMMIT');
      client.release();
    } catch (error) {
      this.report(error);
      // A connection that cannot roll back is broken, and a new one may reach a server that works: the pool closes it. The
      // caller gets the first error.
      const broken =
        isDatabaseUnavailable(error) ||
        (await client.query('ROLLBACK').then(
          () => false,
          () => true,
        ));
      client.release(broken);
      throw error;
    }
    for (const callback of committed) this.callAfterCommit(callback);
    return result;
  }

  /**
   * One read-only transaction with local settings: names of PostgreSQL parameters and their values, which are constants and
   * never input. It begins in the round trip of its first statement, and the caller does not wait for its end: nothing depends
   * on it.
   */
  async reading<T>(settings: Readonly<Record<string, string>>, work: (tx: Queryable) => Promise<T>): Promise<T> {
    const client = await this.connect();
    try {
      const local = Object.entries(settings).map(([name, value]) => `SET LOCAL ${name} = ${literal(value)}`);
      const begun = client.query(['BEGIN READ ONLY', ...local].join('; '));
      const [beginning, worked] = await Promise.allSettled([begun, work(queryOn(client))]);
      if (beginning.status === 'rejected') throw beginning.reason;
      if (worked.status === 'rejected') throw worked.reason;
      return worked.value;
    } catch (error) {
      this.report(error);
      throw error;
    } finally {
      // Also after a success: a read-only transaction has nothing to commit.
      client.query('ROLLBACK').then(
        () => {
          client.release();
        },
        () => {
          client.release(true);
        },
      );
    }
  }

  /** An error must not look like one of the transaction, which is committed, nor prevent the other calls. */
  private callAfterCommit(callback: () => void): void {
    try {
      callback();
    } catch (error) {
      this.logger.error(error);
    }
  }

  private connect(): Promise<PoolClient> {
    return this.reported(this.pool.connect());
  }

  private async reported<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      this.report(error);
      throw error;
    }
  }

  /** Callers retry without logging, so the outage is logged here; the logger sums up repeated lines. */
  private report(error: unknown): void {
    if (isDatabaseUnavailable(error)) this.logger.warn(`The database is unavailable: ${textOf(error)}`);
  }

  get pool(): Pool {
    return (this.dataSource.driver as unknown as { master: Pool }).master;
  }
}

/** SQLSTATE of statements after one that has failed. */
const IN_FAILED_TRANSACTION = '25P02';

const IS_READ_ONLY = `SELECT current_setting('transaction_read_only') = 'on' AS is_read_only`;

const literal = (value: string): string => `'${value.replaceAll("'", "''")}'`;

function textOf(error: unknown): string {
  // An error of several addresses has no text; the error of the first one suffices.
  if (error instanceof AggregateError && error.message === '') return textOf(error.errors[0]);
  return error instanceof Error ? error.message : String(error);
}

/** Statements on a pool or a connection that no {@link Database} has. */
export function queryOn(client: Pool | ClientBase): Queryable {
  return {
    async query<Row extends QueryResultRow>(
      statement: Statement | string,
      values: readonly unknown[] = [],
    ): Promise<Row[]> {
      const result = await client.query<Row>(toConfig(statement, values));
      return result.rows;
    },
  };
}
