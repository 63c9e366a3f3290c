import { Injectable } from '@nestjs/common';
import { Database } from '#platform/persistence';
import { SealedPlaces, type SealedTable, SealedTablePlace, sealedText } from '#platform/secrets';
import { secretContext } from '../application/notification-webhook-secrets.js';

interface Row {
  key: string;
}

const context = ({ key }: Row): string => secretContext(key);

const TABLE: SealedTable<Row> = {
  name: 'notification_webhooks',
  key: { column: 'uid', type: 'text' },
  columns: [sealedText('secret', context), sealedText('previous_secret', context)],
};

/** Signing secrets, for the change of the key. */
@Injectable()
export class NotificationWebhooksPlace extends SealedTablePlace<Row> {
  constructor(places: SealedPlaces, database: Database) {
    super(places, database, TABLE);
  }
}
