import { Injectable } from '@nestjs/common';
import { Database } from '#platform/persistence';
import { SealedPlaces, type SealedTable, SealedTablePlace, sealedText } from '#platform/secrets';
import { capturedContext, secretContext } from '../application/webhook-secrets.js';

interface Row {
  key: string;
  uid: string;
}

/** `version` stays: what authenticates a sender is the same as before. */
const TABLE: SealedTable<Row> = {
  name: 'webhooks',
  key: { column: 'id', type: 'bigint' },
  also: ['uid'],
  columns: [
    sealedText('sealed_secret', ({ uid }) => secretContext(uid)),
    sealedText('sealed_captured_secret', ({ uid }) => capturedContext(uid)),
  ],
};

/** Copies of credentials, for the change of the key. */
@Injectable()
export class WebhooksPlace extends SealedTablePlace<Row> {
  constructor(places: SealedPlaces, database: Database) {
    super(places, database, TABLE);
  }
}
