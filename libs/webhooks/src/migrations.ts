import type { MigrationClass } from '#libs/persistence';
import { Webhooks1700000005001 } from './persistence/webhooks-1700000005001.js';

/** The tables of this room; a door of its own, so that whoever looks at the schema need not load the room. */
export const webhookMigrations: readonly MigrationClass[] = [Webhooks1700000005001];
