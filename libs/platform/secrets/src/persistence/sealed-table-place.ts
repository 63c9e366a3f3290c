import type { OnModuleInit } from '@nestjs/common';
import type { Database } from '#platform/persistence';
import { type Reseal, type ResealCount, SealedPlace, type SealedPlaces } from '../application/sealed-places.js';
import { resealTable, type SealedTable } from './reseal-table.js';

/**
 * A table with sealed values. It makes itself known once the module that provides it is up:
 *
 *   @Injectable()
 *   export class ThingsPlace extends SealedTablePlace<Row> {
 *     constructor(places: SealedPlaces, database: Database) { super(places, database, TABLE); }
 *   }
 */
export abstract class SealedTablePlace<Row extends { key: string }> extends SealedPlace implements OnModuleInit {
  override readonly name: string;

  constructor(
    private readonly places: SealedPlaces,
    private readonly database: Database,
    private readonly table: SealedTable<Row>,
  ) {
    super();
    this.name = table.name;
  }

  onModuleInit(): void {
    this.places.register(this);
  }

  override reseal(reseal: Reseal): Promise<ResealCount> {
    return resealTable(this.database, this.table, reseal);
  }
}
