import { Injectable } from '@nestjs/common';
import type { Pool, PoolClient, QueryResultRow } from 'pg';
import { DataSource } from 'typeorm';
import { surviveConnectionLoss } from './survive-connection-loss.js';

/**
 * A statement with a name is prepared once per connection (`pg` named statements on TypeORM's own pool); the hot
 * paths use it, see docs/adr. Names must be unique per text.
 */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** What can run statements: the pool, or one transaction. */
export interface Queryable {
  query<Row extends QueryResultRow>(statement: Statement | string, values?: readonly unknown[]): Promise<Row[]>;
}

const toConfig = (statement: Statement | string, values: readonly unknown[]) =>
  typeof statement === 'string'
    ? { text: statement, values: [...values] }
    : { name: statement.name, text: statement.text, values: [...values] };

/** SQL over TypeORM's connection pool. Every table lives in schema `headrace`, which is the connections' search path. */
@Injectable()
export class Database implements Queryable {
  constructor(private readonly dataSource: DataSource) {
    surviveConnectionLoss(this.pool);
  }

  async query<Row extends QueryResultRow>(
    statement: Statement | string,
    values: readonly unknown[] = [],
  ): Promise<Row[]> {
    const result = await this.pool.query<Row>(toConfig(statement, values));
    return result.rows;
  }

  /** One transaction on one connection; commits when `work` resolves, rolls back when it throws. */
  async transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T> {
    const client = await this.pool.connect();
    try {
      await client.query('BEGIN');
      const result = await work(onClient(client));
      await client.query('COMMIT');
      client.release();
      return result;
    } catch (error) {
      // A connection that cannot even roll back is broken: it leaves the pool, the first error is what counts.
      const broken = await client.query('ROLLBACK').then(
        () => false,
        () => true,
      );
      client.release(broken);
      throw error;
    }
  }

  /** TypeORM's own pool. */
  get pool(): Pool {
    return (this.dataSource.driver as unknown as { master: Pool }).master;
  }
}

function onClient(client: PoolClient): Queryable {
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
