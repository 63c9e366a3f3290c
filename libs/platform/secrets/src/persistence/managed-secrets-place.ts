import { Injectable } from '@nestjs/common';
import { Database } from '#platform/persistence';
import { SealedPlaces } from '../application/sealed-places.js';
import { secretContext } from '../domain/managed-secret.js';
import { sealedText, type SealedTable } from './reseal-table.js';
import { SealedTablePlace } from './sealed-table-place.js';

interface Row {
  key: string;
  team_uid: string;
  name: string;
}

const TABLE: SealedTable<Row> = {
  name: 'managed_secrets',
  key: { column: 'id', type: 'bigint' },
  also: ['team_uid', 'name'],
  columns: [sealedText('sealed', ({ team_uid, name }) => secretContext(team_uid, name))],
};

/** Managed secrets, for the change of the key. */
@Injectable()
export class ManagedSecretsPlace extends SealedTablePlace<Row> {
  constructor(places: SealedPlaces, database: Database) {
    super(places, database, TABLE);
  }
}
