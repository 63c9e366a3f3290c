import type { Queryable } from '#platform/persistence';

/**
 * The number of resources of one kind that a factory has, in a row of `table`: a transaction that creates or deletes such a
 * resource locks the row first, so that the limit is exact. `table` and `column` become SQL: they are constants of the code.
 */
export class FactoryQuota {
  constructor(
    private readonly table: string,
    private readonly column: string,
    readonly limit: number,
  ) {}

  /** False when the factory has as many as it may have. */
  async reserve(tx: Queryable, factoryUid: string): Promise<boolean> {
    const { table, column, limit } = this;
    const rows = await tx.query(
      `INSERT INTO ${table} AS c (factory_uid, ${column}) VALUES ($1, 1)
       ON CONFLICT (factory_uid) DO UPDATE SET ${column} = c.${column} + 1 WHERE c.${column} < $2 RETURNING 1`,
      [factoryUid, limit],
    );
    return rows.length > 0;
  }

  async lock(tx: Queryable, factoryUid: string): Promise<void> {
    await tx.query(`SELECT 1 FROM ${this.table} WHERE factory_uid = $1 FOR UPDATE`, [factoryUid]);
  }

  async remaining(tx: Queryable, factoryUid: string): Promise<number> {
    const sql = `SELECT ${this.column} AS used FROM ${this.table} WHERE factory_uid = $1`;
    const [row] = await tx.query<{ used: number }>(sql, [factoryUid]);
    return this.limit - (row?.used ?? 0);
  }

  async release(tx: Queryable, factoryUid: string): Promise<void> {
    const { table, column } = this;
    await tx.query(`UPDATE ${table} SET ${column} = ${column} - 1 WHERE factory_uid = $1`, [factoryUid]);
  }
}
