import type { MigrationClass } from '#platform/persistence';
import { Notifications1700000009001 } from './persistence/notifications-1700000009001.js';

/** The tables of this room; a door of its own, so that whoever looks at the schema need not load the room. */
export const notificationMigrations: readonly MigrationClass[] = [Notifications1700000009001];
