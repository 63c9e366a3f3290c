import type { MigrationClass } from '#platform/persistence';
import { WebhookLosses1700000009301 } from './persistence/webhook-losses-1700000009301.js';
import { WebhookSignatures1700000010501 } from './persistence/webhook-signatures-1700000010501.js';
import { Webhooks1700000005001 } from './persistence/webhooks-1700000005001.js';

/** The tables of this room; a door of its own, so that whoever looks at the schema need not load the room. */
export const webhookMigrations: readonly MigrationClass[] = [
  Webhooks1700000005001,
  WebhookLosses1700000009301,
  WebhookSignatures1700000010501,
];
