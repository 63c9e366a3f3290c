import type { MigrationClass } from '#platform/persistence';
import { Schedules1700000007001 } from './persistence/schedules-1700000007001.js';

/** The tables of this room; a door of its own, so that whoever looks at the schema need not load the room. */
export const scheduleMigrations: readonly MigrationClass[] = [Schedules1700000007001];
