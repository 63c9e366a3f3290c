import { Injectable } from '@nestjs/common';
import { Database } from '#platform/persistence';
import type { EncryptedColumn } from '../encrypted-column.js';
import { type Reencrypt, reencryptColumn, type ReencryptCount } from '../persistence/reencrypt-column.js';
import { SecretBox } from '../secret-box.js';

export interface TableCount extends ReencryptCount {
  readonly table: string;
}

/** Goes through every encrypted value of the installation. Safe while others work, and safe to repeat. */
@Injectable()
export class KeyRotation {
  constructor(
    private readonly database: Database,
    private readonly box: SecretBox,
  ) {}

  /** Encrypts every value again that is not under the current key. Yields each table when it is done. */
  async *rotate(columns: readonly EncryptedColumn[]): AsyncGenerator<TableCount> {
    for (const [table, ofTable] of byTable(columns)) {
      const total = { table, changed: 0, broken: 0 };
      for (const column of ofTable) {
        const { changed, broken } = await this.reencrypt(column, (sealed, purpose) =>
          this.box.reencrypt(sealed, purpose),
        );
        total.changed += changed;
        total.broken += broken;
      }
      yield total;
    }
  }

  /** One column, with another way to replace values than {@link rotate}. What `reencrypt` throws ends it. */
  reencrypt(column: EncryptedColumn, reencrypt: Reencrypt): Promise<ReencryptCount> {
    return reencryptColumn(this.database, column, reencrypt);
  }
}

export function byTable(columns: readonly EncryptedColumn[]): ReadonlyMap<string, readonly EncryptedColumn[]> {
  const tables = new Map<string, EncryptedColumn[]>();
  for (const column of columns) tables.set(column.table, [...(tables.get(column.table) ?? []), column]);
  return tables;
}
